import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** React Aria has its own strings in 34 languages; the console speaks one. */
const OTHER_LOCALE = /[/\\](?:intl|i18n)[/\\].*(?<!en-US)\.m?js(?:on)?$/;
const LOCALE_NAME = /[/\\][a-z]{2}-[A-Z]{2}\.(?:m?js|json)$/;

function oneLocale() {
  return {
    name: 'one-locale',
    enforce: 'pre',
    load(id) {
      const path = id.split('?')[0];
      const other = LOCALE_NAME.test(path) && OTHER_LOCALE.test(path);
      return other && path.includes('react-') ? 'export default {};' : undefined;
    },
  };
}

/** Writes .br and .gz beside each asset: the server sends them as they are. */
function compressed() {
  return {
    name: 'compressed',
    apply: 'build',
    writeBundle({ dir }) {
      const assets = join(dir, 'assets');
      for (const name of readdirSync(assets)) {
        const bytes = readFileSync(join(assets, name));
        const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
        writeFileSync(join(assets, `${name}.br`), brotliCompressSync(bytes, quality));
        writeFileSync(join(assets, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

const { MUSTER_URL = 'http://localhost:8080', MUSTER_TOKEN = '' } = process.env;

export default defineConfig({
  plugins: [oneLocale(), react(), compressed()],
  // The server puts a fresh nonce in its place with each answer.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir: process.env.MUSTER_WEB_OUT ?? '../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    manifest: true,
    // Inlined files would need data: in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    host: 'localhost',
    // For development only: requests go to a running server with a token of the shell.
    proxy: {
      '/api': {
        target: MUSTER_URL,
        headers: MUSTER_TOKEN === '' ? {} : { authorization: `Bearer ${MUSTER_TOKEN}` },
      },
    },
  },
});
