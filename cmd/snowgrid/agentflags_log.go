package main

import "log/slog"

// logFlags set the log's level and format.
type logFlags struct {
	LogLevel  slog.Level `help:"Lowest level that is logged: debug, info, warn or error." default:"info" env:"SNOWGRID_LOG_LEVEL"`
	LogFormat string     `help:"Log format: text or json." enum:"text,json" default:"text" env:"SNOWGRID_LOG_FORMAT"`
}

// logger returns a logger that writes to stderr, and the level, which may be changed.
func (f *logFlags) logger(to streams) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(f.LogLevel)
	options := &slog.HandlerOptions{Level: level}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to.err, options)), level
	}
	return slog.New(slog.NewTextHandler(to.err, options)), level
}
