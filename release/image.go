package main

import (
	"bytes"
	"io"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser is the image's user and group.
const imageUser = 65532

// image writes an archive in the OCI image layout, with an image for each Linux platform, without a container
// engine. It has the same files as deploy/docker/Dockerfile, and snowgrid-serve.
func (r *release) image() error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		image, err := r.imageOf(t)
		if err != nil {
			return err
		}
		platform := &v1.Platform{OS: t.os, Architecture: t.arch}
		if t.arm != "" {
			platform.Variant = "v" + t.arm
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	r.digest = digest.String()
	dir := filepath.Join(r.temp, "image")
	// Tools that push an archive push the single entry in its index.json.
	all := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: index,
		Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": r.number()}}})
	if _, err := layout.Write(dir, all); err != nil {
		return err
	}
	files, err := filesBelow(dir)
	if err != nil {
		return err
	}
	return r.write("snowgrid_"+r.number()+"_oci.tar", func(w io.Writer) error { return r.tar(w, "", files) })
}

func (r *release) imageOf(t target) (v1.Image, error) {
	content, err := r.rootfs(t)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "snowgrid release " + r.version}}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = t.os, t.arch, v1.Time{Time: r.time}
	if t.arm != "" {
		config.Variant = "v" + t.arm
	}
	config.Config = v1.Config{
		User: "65532:65532", Entrypoint: []string{"/snowgrid"}, Cmd: []string{"agent", "--help"}, StopSignal: "SIGTERM",
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"7946/tcp": {}, "7946/udp": {}, "7947/tcp": {}, "7948/tcp": {}, "7949/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "snowgrid", "org.opencontainers.image.description": summary,
			"org.opencontainers.image.version": r.number(), "org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.source": homepage, "org.opencontainers.image.licenses": licence,
		},
	}
	return mutate.ConfigFile(image, config)
}
