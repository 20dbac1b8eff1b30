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

// TestImagesAreOurs: no foreign image is a base of ours or runs beside it: it would
// see the secrets of a member, and its content may change with the day.
func TestImagesAreOurs(t *testing.T) {
	text, err := os.ReadFile("../docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	from := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllSubmatch(text, -1)
	if len(from) != 1 || string(from[0][1]) != "scratch" {
		t.Errorf("the Dockerfile begins from %q", from)
	}
	if text, err = os.ReadFile("../ecs/task-definition.json"); err != nil {
		t.Fatal(err)
	}
	var task ecs.RegisterTaskDefinitionInput
	if err := json.Unmarshal(text, &task); err != nil {
		t.Fatal(err)
	}
	for _, c := range task.ContainerDefinitions {
		if *c.Image != "ACCOUNT.dkr.ecr.REGION.amazonaws.com/snowgrid:TAG" {
			t.Errorf("the container %s has the image %s", *c.Name, *c.Image)
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
