#!/bin/sh
# Names the base images of the files by the digests that their tags have now: python:3.11-slim becomes
# python:3.11-slim@sha256:… A release does so, because a tag can be moved. Run again, it asks anew.
set -eu
for file in "$@"; do
  sed -nE 's/^(FROM|    image:) +([^ @]+)(@sha256:[0-9a-f]+)?( .*)?$/\2/p' "$file" | sort -u | while read -r image; do
    digest=$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')
    case $digest in
      sha256:*) ;;
      *) echo "docker says no digest of $image: $digest" >&2; exit 1 ;;
    esac
    sed -E -i "s|^(FROM\|    image:) +$image(@sha256:[0-9a-f]+)?( .*)?\$|\1 $image@$digest\3|" "$file"
  done
done
