import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const LARGE_ENOUGH = 1024;

/** The server sends the file beside the asset, it compresses nothing by itself. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    writeBundle({ dir = '' }) {
      const assets = join(dir, 'assets');
      for (const name of readdirSync(assets).filter((each) => /\.(js|css|svg)$/.test(each))) {
        const bytes = readFileSync(join(assets, name));
        if (bytes.length < LARGE_ENOUGH) continue;
        writeFileSync(join(assets, `${name}.br`), brotliCompressSync(bytes));
        writeFileSync(join(assets, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), compressed()],
  // The server puts a fresh nonce in its place.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir: process.env.MUSTER_WEB_OUT ?? '../dist/web',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
