FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY migrations migrations
COPY src src
RUN npm run build && npm prune --omit=dev

FROM node:22-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
RUN useradd --system --create-home --uid 10001 muster \
  && install -d -o muster -g muster -m 0700 /data
RUN printf '#!/bin/sh\nexec node --enable-source-maps /app/dist/src/cli/muster.js "$@"\n' \
  > /usr/local/bin/muster && chmod 0755 /usr/local/bin/muster
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
USER muster
VOLUME /data
EXPOSE 8080
# The certificate is not for 127.0.0.1, so it is not checked on this way round.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "-e", "\
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; \
process.removeAllListeners('warning'); \
const scheme = process.env.TLS_CERT_FILE ? 'https' : 'http'; \
fetch(`${scheme}://127.0.0.1:${process.env.PORT}/readyz`).then( \
  (answer) => process.exit(answer.ok ? 0 : 1), \
  () => process.exit(1), \
)"]
CMD ["muster", "serve"]
