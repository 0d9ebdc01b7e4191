package oracle

// toolSubjects are the keys of administration.
var toolSubjects = []subject{}
