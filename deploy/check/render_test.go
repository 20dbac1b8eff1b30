package check

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// TestKustomize renders both kinds of grid as kubectl apply -k does.
func TestKustomize(t *testing.T) {
	for _, kind := range []string{"durable", "memory"} {
		t.Run(kind, func(t *testing.T) {
			m := kustomize(t, kind)
			m.check(t)
			if m.durable != (kind == "durable") || m.replicas != 3 || len(m.policies) != 1 {
				t.Errorf("durable %t, %d replicas, %d network policies", m.durable, m.replicas, len(m.policies))
			}
		})
	}
}

// kustomize renders a directory of manifests as kubectl apply -k does.
func kustomize(t *testing.T, kind string) manifests {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../kubernetes/"+kind)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return sort(t, decode(t, rendered))
}

// helm renders the chart as helm install does.
func helm(t *testing.T, release string, values map[string]any) (manifests, error) {
	t.Helper()
	chart, err := loader.Load("../helm/snowgrid")
	if err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: "ids", IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return manifests{}, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return manifests{}, err
	}
	var rendered bytes.Buffer
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") {
			rendered.WriteString("---\n" + text + "\n")
		}
	}
	return sort(t, decode(t, rendered.Bytes())), nil
}

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestHelm renders the chart with its own values and with others.
func TestHelm(t *testing.T) {
	for name, c := range map[string]struct {
		values map[string]any
		want   func(manifests) bool
	}{
		"as it is":     {nil, func(m manifests) bool { return m.durable && m.replicas == 3 && m.name == "ids-snowgrid" }},
		"five members": {map[string]any{"replicas": 5}, func(m manifests) bool { return m.env("SNOWGRID_EXPECT") == "5" }},
		"without disks": {map[string]any{"durable": false}, func(m manifests) bool {
			return !m.durable &&
				len(m.claims) == 1
		}},
		"a claim of mine": {map[string]any{"durable": false, "anchor": map[string]any{"existingClaim": "mine"}},
			func(m manifests) bool { return len(m.claims) == 0 }},
		"another image": {map[string]any{"image": map[string]any{"repository": "r/x", "tag": "7"}},
			func(m manifests) bool { return m.container().Image == "r/x:7" }},
		"an image by its digest": {map[string]any{"image": map[string]any{"repository": "r/x", "digest": someDigest}},
			func(m manifests) bool { return m.container().Image == "r/x@"+someDigest }},
		"a tag and a digest": {map[string]any{"image": map[string]any{"repository": "r/x", "tag": "7", "digest": someDigest}},
			func(m manifests) bool { return m.container().Image == "r/x:7" }},
		"more settings": {map[string]any{"settings": map[string]any{"backups": 2, "window": "30s", "log-level": "debug"}},
			func(m manifests) bool {
				return m.env("SNOWGRID_BACKUPS") == "2" && m.env("SNOWGRID_LOG_LEVEL") == "debug"
			}},
		"more of the pod": {map[string]any{"podLabels": map[string]any{"team": "ids"},
			"nodeSelector": map[string]any{"a": "b"}, "podAnnotations": map[string]any{"c": "d"}}, func(m manifests) bool {
			return m.pod.Labels["team"] == "ids" && m.pod.Spec.NodeSelector["a"] == "b" && m.pod.Annotations["c"] == "d"
		}},
		"a storage class": {map[string]any{"storage": map[string]any{"className": "fast", "size": "2Gi"}},
			func(m manifests) bool {
				return *m.stateful.Spec.VolumeClaimTemplates[0].Spec.StorageClassName == "fast"
			}},
		"insecure": {map[string]any{"security": map[string]any{"insecure": true}}, func(m manifests) bool {
			return m.env("SNOWGRID_INSECURE") == "true" && m.env("SNOWGRID_SECURITY_DIR") == "" && m.volume("security") == nil
		}},
		"another secret": {map[string]any{"durable": false, "security": map[string]any{"secretName": "other"}},
			func(m manifests) bool {
				return m.volume("security").Projected.Sources[0].Secret.Name == "other"
			}},
		"another variable": {map[string]any{"env": []any{map[string]any{"name": "GOMEMLIMIT", "value": "400MiB"}}},
			func(m manifests) bool { return m.env("GOMEMLIMIT") == "400MiB" }},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]any{"security": map[string]any{"secretName": "mine"}}
			maps.Copy(values, c.values)
			m, err := helm(t, "ids", values)
			if err != nil {
				t.Fatal(err)
			}
			m.insecure = name == "insecure"
			m.check(t)
			if !c.want(m) {
				t.Errorf("the rendering of %v is not as wanted: %+v", c.values, m)
			}
		})
	}
}

// TestHelmRefuses: a value that the chart does not know, or that cannot be, is an error that
// names it.
func TestHelmRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		values map[string]any
		says   string
	}{
		"an unknown value": {map[string]any{"replica": 3}, "replica"},
		"no members":       {map[string]any{"replicas": 0}, "replicas"},
		"a word":           {map[string]any{"durable": "yes"}, "durable"},
		"no secret":        {nil, "security.secretName is empty: run snowgrid secure init"},
		"certificates alone": {map[string]any{"security": map[string]any{"certificateSecretName": "x"}},
			"security.secretName is empty"},
		"insecure secret": {map[string]any{"security": map[string]any{"insecure": true, "secretName": "x"}},
			"set one or the other"},
		"an unknown key": {map[string]any{"settings": map[string]any{"Voters!": 3}}, "Voters!"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := helm(t, "ids", c.values); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error of %v is %v, want one that names %s", c.values, err, c.says)
			}
		})
	}
}

// TestTaskDefinition: the task definition has only fields that ECS has, the variables that
// the agent has, and ends within its time.
func TestTaskDefinition(t *testing.T) {
	text, err := os.ReadFile("../ecs/task-definition.json")
	if err != nil {
		t.Fatal(err)
	}
	var task ecs.RegisterTaskDefinitionInput
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&task); err != nil {
		t.Fatal(err)
	}
	if len(task.ContainerDefinitions) != 2 {
		t.Fatalf("%d containers, want 2", len(task.ContainerDefinitions))
	}
	first, c, known, leave := task.ContainerDefinitions[0], task.ContainerDefinitions[1], agentVariables(t), 0.0
	checkTaskSecrets(t, first, c)
	for _, v := range c.Environment {
		if !known[*v.Name] {
			t.Errorf("the agent does not know the variable %s", *v.Name)
		}
		if *v.Name == "SNOWGRID_LEAVE_TIMEOUT" {
			leave = seconds(t, *v.Value)
		}
	}
	if leave == 0 || float64(*c.StopTimeout) < leave+5 {
		t.Errorf("the stop timeout %d is not 5 s above the leave timeout %v", *c.StopTimeout, leave)
	}
	if !*c.ReadonlyRootFilesystem || *c.User != "65532:65532" {
		t.Errorf("read-only root %t, user %s", *c.ReadonlyRootFilesystem, *c.User)
	}
}

// checkTaskSecrets runs the container that writes the credentials, and an agent with them.
func checkTaskSecrets(t *testing.T, first, member types.ContainerDefinition) {
	t.Helper()
	if *first.Essential || len(member.DependsOn) != 1 || *member.DependsOn[0].ContainerName != *first.Name ||
		member.DependsOn[0].Condition != types.ContainerConditionSuccess {
		t.Errorf("the member does not wait for the end of %s: %v", *first.Name, member.DependsOn)
	}
	written, mounted := first.MountPoints[0], member.MountPoints[0]
	if *written.ContainerPath != securityDir || *mounted.ContainerPath != securityDir ||
		*written.SourceVolume != *mounted.SourceVolume || !*mounted.ReadOnly {
		t.Errorf("the credentials are written to %v and read from %v", *written.ContainerPath, *mounted.ContainerPath)
	}
	all, own := credentials(t)
	files, dir := filesIn(t, own), t.TempDir()
	packed, err := exec.Command(snowgrid(t), "secure", "pack", "--dir", own).Output()
	if err != nil {
		t.Fatalf("secure pack: %v", err)
	}
	if *first.Image != *member.Image || len(first.Secrets) != 1 {
		t.Errorf("the first container has the image %s and %d secrets", *first.Image, len(first.Secrets))
	}
	args := slices.Clone(first.Command)
	args[slices.Index(args, securityDir)] = dir
	if i := slices.Index(args, "--owner"); os.Geteuid() != 0 {
		args = slices.Delete(args, i, i+2)
	}
	run := exec.Command(snowgrid(t), args...)
	run.Env = []string{*first.Secrets[0].Name + "=" + string(packed)}
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	if made := filesIn(t, dir); !maps.Equal(made, files) {
		t.Errorf("the container writes %v, want %v", slices.Collect(maps.Keys(made)), memberFiles)
	}
	if info, err := os.Stat(filepath.Join(dir, "member.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the private key: %v, %v", info.Mode(), err)
	}
	variables := map[string]string{}
	for _, v := range member.Environment {
		variables[*v.Name] = *v.Value
	}
	if variables["SNOWGRID_SECURITY_DIR"] != securityDir {
		t.Errorf("SNOWGRID_SECURITY_DIR is %q", variables["SNOWGRID_SECURITY_DIR"])
	}
	api, ops := securedAgent(t, variables, dir)
	checkSecured(t, api, ops, all, dir)
}
