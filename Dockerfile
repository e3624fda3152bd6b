# mxflow, and the docker command with its plugins compose and buildx: static programs, and
# nothing else that could be attacked. It starts engines in containers (mount the daemon's
# socket), asks servers that run (endpoint), or runs the embedded engine; engines that are
# processes need an image of their own, to which this one lends its program:
# COPY --from=mxflow /mxflow /usr/bin/.
#
#   docker build -t mxflow .
#   docker run --rm -v "$PWD:/plan" -w /plan mxflow apply plan.hcl
ARG GO_IMAGE=golang:1.26.8-bookworm
ARG DOCKER_IMAGE=docker:28.5.2-cli

# The compiler runs on the machine that builds, whatever it builds for. Docker's old builder names none.
FROM --platform=${BUILDPLATFORM:-linux/amd64} ${GO_IMAGE} AS build
WORKDIR /src
ARG GOPROXY
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETARCH
RUN CGO_ENABLED=0 GOARCH=$TARGETARCH go build -trimpath -ldflags '-s -w' -o /mxflow ./cmd/mxflow && mkdir -m 1777 /empty

FROM ${DOCKER_IMAGE} AS docker

FROM scratch
LABEL org.opencontainers.image.title=mxflow \
      org.opencontainers.image.description="Plans, gates and evidence for optimising inference engines" \
      org.opencontainers.image.source=https://github.com/mxflow/mxflow \
      org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /mxflow /mxflow
COPY --from=docker /usr/local/bin/docker /usr/local/bin/docker
COPY --from=docker /usr/local/libexec/docker/cli-plugins /usr/local/libexec/docker/cli-plugins
ENV PATH=/usr/local/bin
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# Engines' sockets and files that are written whole are made there first.
COPY --from=build /empty /tmp
ENTRYPOINT ["/mxflow"]
