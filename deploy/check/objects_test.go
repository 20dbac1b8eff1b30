package check

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// decode reads rendered manifests into the types of Kubernetes. A field that the types do
// not have is an error.
func decode(t *testing.T, rendered []byte) []runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme,
		networkingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	codec := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(rendered)))
	defer func() { _ = documents.Close() }()
	var objects []runtime.Object
	buf := make([]byte, 1<<20)
	for {
		size, err := documents.Read(buf)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(bytes.TrimPrefix(buf[:size], []byte("---")))) == 0 {
			continue
		}
		object, _, err := codec.Decode(buf[:size], nil, nil)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, buf[:size])
		}
		objects = append(objects, object)
	}
}

// manifests are the objects of one grid, by kind.
type manifests struct {
	name     string // of the workload
	durable  bool   // it is a StatefulSet
	replicas int32
	selector *metav1.LabelSelector
	pod      corev1.PodTemplateSpec
	services []*corev1.Service
	budgets  []*policyv1.PodDisruptionBudget
	policies []*networkingv1.NetworkPolicy
	accounts []string
	claims   []string
	stateful *appsv1.StatefulSet
	insecure bool // the values say so
}

// sort sorts the objects of a rendering.
func sort(t *testing.T, objects []runtime.Object) (m manifests) {
	t.Helper()
	for _, object := range objects {
		switch o := object.(type) {
		case *appsv1.StatefulSet:
			m.name, m.durable, m.replicas, m.selector, m.pod, m.stateful = o.Name, true, *o.Spec.Replicas, o.Spec.Selector,
				o.Spec.Template, o
		case *appsv1.Deployment:
			m.name, m.replicas, m.selector, m.pod = o.Name, *o.Spec.Replicas, o.Spec.Selector, o.Spec.Template
		case *corev1.Service:
			m.services = append(m.services, o)
		case *policyv1.PodDisruptionBudget:
			m.budgets = append(m.budgets, o)
		case *networkingv1.NetworkPolicy:
			m.policies = append(m.policies, o)
		case *corev1.ServiceAccount:
			m.accounts = append(m.accounts, o.Name)
		case *corev1.PersistentVolumeClaim:
			m.claims = append(m.claims, o.Name)
		default:
			t.Errorf("an object of an unexpected kind: %T", object)
		}
	}
	if len(m.pod.Spec.Containers) != 1 {
		t.Fatalf("%d containers in the pod of the rendering, want 1", len(m.pod.Spec.Containers))
	}
	return m
}

// container is the member's.
func (m manifests) container() corev1.Container { return m.pod.Spec.Containers[0] }

// env is the value of a variable of the container, "" if there is none.
func (m manifests) env(name string) string {
	for _, v := range m.container().Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// hasPort reports whether the container has a port, by name or number.
func (m manifests) hasPort(port intstr.IntOrString, protocol corev1.Protocol) bool {
	return slices.ContainsFunc(m.container().Ports, func(p corev1.ContainerPort) bool {
		return p.Protocol == protocol && (p.Name == port.StrVal || p.ContainerPort == port.IntVal)
	})
}

// check compares the objects with each other and with the agent.
func (m manifests) check(t *testing.T) {
	t.Helper()
	pod := labels.Set(m.pod.Labels)
	selects := func(whose string, s map[string]string) {
		if len(s) == 0 || !labels.SelectorFromSet(s).Matches(pod) {
			t.Errorf("the selector of %s, %v, does not select the pods, %v", whose, s, pod)
		}
	}
	selects(m.name, m.selector.MatchLabels)
	m.checkServices(t, selects)
	if len(m.budgets) != 1 {
		t.Errorf("%d disruption budgets, want 1", len(m.budgets))
	}
	for _, b := range m.budgets {
		selects(b.Name, b.Spec.Selector.MatchLabels)
		if b.Spec.MaxUnavailable.IntValue() != 1 {
			t.Errorf("a disruption budget of %v, want 1", b.Spec.MaxUnavailable)
		}
	}
	for _, p := range m.policies {
		selects(p.Name, p.Spec.PodSelector.MatchLabels)
		for _, rule := range p.Spec.Ingress {
			for _, port := range rule.Ports {
				if !m.hasPort(*port.Port, *port.Protocol) {
					t.Errorf("the network policy names port %v, which the container has not", port.Port)
				}
			}
		}
	}
	if !slices.Contains(m.accounts, m.pod.Spec.ServiceAccountName) {
		t.Errorf("the service account %q is not among %v", m.pod.Spec.ServiceAccountName, m.accounts)
	}
	m.checkStorage(t)
	m.checkRights(t)
	if !m.insecure {
		m.checkCredentials(t)
	}
	m.checkAgent(t)
}

// checkServices: one service for members with addresses that are not ready, one for
// clients without.
func (m manifests) checkServices(t *testing.T, selects func(string, map[string]string)) {
	t.Helper()
	var early []string
	for _, s := range m.services {
		selects("service "+s.Name, s.Spec.Selector)
		if s.Spec.PublishNotReadyAddresses {
			early = append(early, s.Name)
		}
		for _, p := range s.Spec.Ports {
			if !m.hasPort(p.TargetPort, p.Protocol) {
				t.Errorf("service %s names port %v, which the container has not", s.Name, p.TargetPort)
			}
		}
	}
	if len(m.services) != 2 || len(early) != 1 {
		t.Fatalf("%d services, %v of them with addresses that are not ready; want 2 and 1", len(m.services), early)
	}
	if join := m.env("SNOWGRID_JOIN"); join != early[0]+":7946" {
		t.Errorf("members join at %q, want the service %s", join, early[0])
	}
	if m.durable && m.stateful.Spec.ServiceName != early[0] {
		t.Errorf("the StatefulSet's service is %q, want %s", m.stateful.Spec.ServiceName, early[0])
	}
}

// mounted returns the volume that the container has mounted at a directory.
func (m manifests) mounted(t *testing.T, dir string) corev1.VolumeMount {
	t.Helper()
	for _, v := range m.container().VolumeMounts {
		if v.MountPath == dir {
			return v
		}
	}
	t.Errorf("nothing is mounted at %q", dir)
	return corev1.VolumeMount{}
}

// volume returns a volume of the pod, nil if it has none of that name.
func (m manifests) volume(name string) *corev1.Volume {
	for i := range m.pod.Spec.Volumes {
		if m.pod.Spec.Volumes[i].Name == name {
			return &m.pod.Spec.Volumes[i]
		}
	}
	return nil
}

// checkStorage: a durable member has a volume for its directory, and its members start in
// parallel; a member without has the anchor.
func (m manifests) checkStorage(t *testing.T) {
	t.Helper()
	if !m.durable {
		dir, isFile := strings.CutPrefix(m.env("SNOWGRID_ANCHOR"), "file:")
		if !isFile {
			t.Errorf("the anchor is %q", m.env("SNOWGRID_ANCHOR"))
		}
		name := m.mounted(t, dir).Name
		if v := m.volume(name); v == nil || v.PersistentVolumeClaim == nil {
			t.Errorf("the volume %q of the anchor is not that of a claim: %v", name, m.pod.Spec.Volumes)
		}
		return
	}
	name := m.mounted(t, m.env("SNOWGRID_DATA_DIR")).Name
	if c := m.stateful.Spec.VolumeClaimTemplates; len(c) != 1 || c[0].Name != name {
		t.Errorf("the claims %v are not the one volume %q", c, name)
	}
	if m.stateful.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		t.Errorf("pods are managed %q: members wait for each other, so the first would wait without end",
			m.stateful.Spec.PodManagementPolicy)
	}
}

// checkRights: no root, nothing writable but volumes, no capabilities.
func (m manifests) checkRights(t *testing.T) {
	t.Helper()
	pod, own := m.pod.Spec.SecurityContext, m.container().SecurityContext
	if pod == nil || own == nil {
		t.Fatal("a security context is missing")
	}
	if !*pod.RunAsNonRoot || *pod.RunAsUser != 65532 || *pod.FSGroup != 65532 {
		t.Errorf("the pod's security context is %v", pod)
	}
	if !*own.ReadOnlyRootFilesystem || *own.AllowPrivilegeEscalation ||
		!slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the container's security context is %v", own)
	}
}

// checkAgent: the agent knows each variable, leaves within the grace period, forms the
// grid with all members, and serves the probes.
func (m manifests) checkAgent(t *testing.T) {
	t.Helper()
	known := agentVariables(t)
	for _, v := range m.container().Env {
		if strings.HasPrefix(v.Name, "SNOWGRID_") && !known[v.Name] {
			t.Errorf("the agent does not know the variable %s", v.Name)
		}
	}
	if grace := m.pod.Spec.TerminationGracePeriodSeconds; grace == nil ||
		float64(*grace) < seconds(t, m.env("SNOWGRID_LEAVE_TIMEOUT"))+5 {
		t.Errorf("the grace period %v is not 5 s above the leave timeout %s", grace, m.env("SNOWGRID_LEAVE_TIMEOUT"))
	}
	if want := m.env("SNOWGRID_EXPECT"); want != strconv.Itoa(int(m.replicas)) {
		t.Errorf("SNOWGRID_EXPECT is %q with %d replicas", want, m.replicas)
	}
	for path, probe := range map[string]*corev1.Probe{"/readyz": m.container().ReadinessProbe,
		"/livez": m.container().LivenessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path ||
			!m.hasPort(probe.HTTPGet.Port, corev1.ProtocolTCP) {
			t.Errorf("the probe of %s is %v", path, probe)
		}
	}
}
