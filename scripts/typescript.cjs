// `node --require ./scripts/typescript.cjs FILE.ts` runs TypeScript: swc takes the types away, as it does
// for jest. For processes and threads that tests and benchmarks start: a start takes a third of the
// time that it takes with tsx.
const { existsSync, readFileSync } = require('node:fs');
const Module = require('node:module');
const { dirname, resolve } = require('node:path');
const { transformSync } = require('@swc/core');

const OPTIONS = {
  swcrc: false,
  sourceMaps: 'inline',
  jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
  module: { type: 'commonjs' },
};

process.setSourceMapsEnabled(true);

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), { ...OPTIONS, filename });
  module._compile(code, filename);
};

const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request, parent, ...rest) {
  const source = sourceOf(parent?.filename ?? '', request);
  return source ?? resolveFilename.call(this, request, parent, ...rest);
};

/** The TypeScript file that `./name.js` means, asked for by another. */
function sourceOf(from, request) {
  if (!from.endsWith('.ts') || !/^\..*\.js$/.test(request)) return undefined;
  const path = `${resolve(dirname(from), request).slice(0, -3)}.ts`;
  return existsSync(path) ? path : undefined;
}
