# The newest LTS line of Node.js. On Debian, because the tests run on glibc.
FROM node:26-slim AS build
WORKDIR /app
# Only for the build. Unset: npm's own.
ARG NPM_CONFIG_REGISTRY
COPY package.json package-lock.json ./
COPY packages/api-reference/package.json packages/api-reference/
COPY packages/framework/package.json packages/framework/
COPY packages/changes/package.json packages/changes/
COPY packages/webhooks/package.json packages/webhooks/
COPY packages/client/package.json packages/client/
COPY packages/command/package.json packages/command/
COPY packages/local/package.json packages/local/
COPY packages/conformance/package.json packages/conformance/
# Only the embedded PostgreSQL needs an install script, and the image does not contain it.
RUN npm ci --ignore-scripts
COPY tsconfig.json bundle.js sbom.js openapi.json ./
COPY src src
COPY packages/api-reference/src packages/api-reference/src
COPY packages/api-reference/public packages/api-reference/public
COPY packages/framework/src packages/framework/src
COPY packages/changes/src packages/changes/src
COPY packages/webhooks/src packages/webhooks/src
COPY packages/client/src packages/client/src
COPY packages/command/src packages/command/src
RUN npm run build:client \
  && mkdir bin \
  && ln -s ../dist/cli/plant-store.js bin/plant-store
# The bundle contains the code of the packages, and lists them in dist/sbom.cdx.json. What stays: the assets of the docs page,
# with the links to their packages, and the licences and names of all packages, for people and for vulnerability scanners.
# TypeScript is a peer dependency of @nestjs/swagger. The types are for those who compile against the framework.
RUN npm prune --omit=dev --ignore-scripts \
  && rm -r node_modules/typescript node_modules/@types \
  && find node_modules -type f -not \( -path 'node_modules/swagger-ui-dist/*.css' -o -path 'node_modules/swagger-ui-dist/*-bundle.js' \
    -o -path node_modules/oauth4webapi/build/index.js \
    -o -name package.json -o -iname 'licen[cs]e*' -o -iname 'notice*' -o -iname 'copying*' \) -delete \
  && find node_modules \( -type l -not -exec test -e {} \; -o -type d -empty \) -delete
COPY LICENSE ./
# Files of a clone made under a strict umask are readable only by their owner.
RUN chmod -R a+rX package.json LICENSE packages/api-reference/package.json packages/api-reference/public \
    packages/framework/package.json packages/changes/package.json packages/webhooks/package.json \
    packages/client/package.json packages/command/package.json
ARG REVISION=unknown
# npm publishes the revision under the same name. The service reads it for its metrics.
RUN npm pkg set gitHead="${REVISION}"

FROM node:26-slim
# One heap of the C library for all threads. The default is up to eight for each processor (mallopt(3)).
ENV MALLOC_ARENA_MAX=1 \
  NODE_ENV=production \
  HOST=:: \
  MANAGEMENT_HOST=:: \
  PATH=/app/bin:$PATH
WORKDIR /app
COPY --from=build /app/LICENSE ./
COPY --from=build /app/package.json ./
# The bundle contains the code of the packages.
COPY --from=build /app/packages/api-reference/package.json packages/api-reference/
COPY --from=build /app/packages/api-reference/public packages/api-reference/public
COPY --from=build /app/packages/framework/package.json packages/framework/
COPY --from=build /app/packages/changes/package.json packages/changes/
COPY --from=build /app/packages/webhooks/package.json packages/webhooks/
COPY --from=build /app/packages/client/package.json packages/client/
COPY --from=build /app/packages/command/package.json packages/command/
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# The docs page offers it.
COPY --from=build /app/dist-client/client.tgz dist-client/
# Copying the folder keeps the link: copying the link would copy the file.
COPY --from=build /app/bin bin
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Plant Store" \
  org.opencontainers.image.description="A plant store over HTTP: NestJS, TypeORM and PostgreSQL behind one published interface" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="1.2.0" \
  org.opencontainers.image.revision="${REVISION}"
# Numeric, so that Kubernetes can verify that the user is not root.
USER 1000:1000
EXPOSE 3000 3001
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://localhost:${process.env.MANAGEMENT_PORT || 3001}/health/ready`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# By default, the young generation depends on the memory limit. In a pod of 512 MiB it is so small that a create takes up to
# twice the processor time; without a limit it takes 30 MB more. The compiler frees its memory at once, not in the background,
# which saves 10 MB (docs/performance.md).
CMD ["node", "--max-semi-space-size=16", "--no-maglev-destroy-on-background", "dist/main.js"]
