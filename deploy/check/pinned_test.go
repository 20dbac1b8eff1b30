package check

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ecs"
)

// exact is an image by its digest or by a whole version: its content does not change with the day.
var exact = regexp.MustCompile(`(@sha256:[0-9a-f]{64}|:\d+\.\d+\.\d+(-[a-z0-9.]+)?)$`)

// TestImagesAreExact: an image that this repository does not build, and that gets or makes secrets or programs,
// is named by a whole version or a digest.
func TestImagesAreExact(t *testing.T) {
	text, err := os.ReadFile("../docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var images []string
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllSubmatch(text, -1) {
		if image := string(from[1]); image != "scratch" {
			images = append(images, image)
		}
	}
	if text, err = os.ReadFile("../ecs/task-definition.json"); err != nil {
		t.Fatal(err)
	}
	var task ecs.RegisterTaskDefinitionInput
	if err := json.Unmarshal(text, &task); err != nil {
		t.Fatal(err)
	}
	images = append(images, *task.ContainerDefinitions[0].Image)
	if len(images) != 2 {
		t.Errorf("images %v", images)
	}
	for _, image := range images {
		if !exact.MatchString(image) {
			t.Errorf("%s may be another image tomorrow: name a whole version or a digest", image)
		}
	}
	for _, moving := range []string{"busybox:stable", "golang:1.26", "golang:latest", "golang"} {
		if exact.MatchString(moving) {
			t.Errorf("%s counts as exact", moving)
		}
	}
}

// TestActionsAreExact: a workflow names each action by its commit, since a tag can be moved.
func TestActionsAreExact(t *testing.T) {
	workflows, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(workflows) == 0 {
		t.Fatal(workflows, err)
	}
	commit := regexp.MustCompile(`@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, path := range workflows {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range regexp.MustCompile(`(?m)uses: (.*)$`).FindAllSubmatch(text, -1) {
			if !commit.Match(use[1]) {
				t.Errorf("%s: %s: give the commit, and its version in a comment", path, use[1])
			}
		}
	}
}

// TestUnitConfines: the process that holds the keys of a member writes no core dump, makes files that are its
// own alone, and has none of the privileges that a member does not need.
func TestUnitConfines(t *testing.T) {
	for key, want := range map[string]string{
		"UMask": "0077", "LimitCORE": "0", "NoNewPrivileges": "true", "CapabilityBoundingSet": "", "ProtectSystem": "strict",
		"ProtectProc": "invisible", "RestrictSUIDSGID": "true", "SystemCallFilter": "@system-service",
		"StateDirectoryMode": "0700",
	} {
		if got := unit(t, key); !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}
