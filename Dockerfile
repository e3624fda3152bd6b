# mxflow and the docker command: two static programs, and nothing else that could be
# attacked. It starts engines by docker (mount the daemon's socket), asks servers that run
# (endpoint), or runs the embedded engine; engines that are processes need an image of
# their own, to which this one lends its program: COPY --from=mxflow /mxflow /usr/bin/.
#
#   docker build -t mxflow .
#   docker run --rm -v "$PWD:/plan" -w /plan mxflow apply plan.hcl
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /mxflow ./cmd/mxflow && mkdir -m 1777 /empty

FROM scratch
COPY --from=build /mxflow /mxflow
COPY --from=docker:cli /usr/local/bin/docker /usr/local/bin/docker
ENV PATH=/usr/local/bin
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# Engines' sockets and files that are written whole are made there first.
COPY --from=build /empty /tmp
ENTRYPOINT ["/mxflow"]
