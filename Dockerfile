FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY web/package.json web/
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY migrations migrations
COPY src src
COPY web web
RUN npm run build

# What runs: no PostgreSQL (DATABASE_URL names one), no compilers, and of the packages only what Node reads.
# dist keeps its source maps, so that stacks in the log name lines of the source.
FROM node:22-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY web/package.json web/
RUN npm ci --omit=dev --omit=optional
RUN find node_modules -type f \
  \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.flow' \) -delete

FROM node:22-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
RUN useradd --system --create-home --uid 10001 muster \
  && install -d -o muster -g muster -m 0700 /data
RUN printf '#!/bin/sh\nexec node --enable-source-maps --v8-pool-size=1 /app/dist/src/cli/muster.js "$@"\n' \
  > /usr/local/bin/muster && chmod 0755 /usr/local/bin/muster
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
USER muster
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=6s --start-period=60s --retries=3 CMD ["muster", "health"]
CMD ["muster", "serve"]
