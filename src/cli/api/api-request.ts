import { readFile } from 'node:fs/promises';
import { AppError } from '../../errors.js';
import { DEFINITIONS } from '../../resources/index.js';

const API = '/api/v1';

/** Below `base`, whether the path is given with or without /api/v1 in front. */
export function apiUrl(base: string, path: string): URL {
  const absolute = path.startsWith('/') ? path : `/${path}`;
  const full = /^\/api\/v1(?=[/?]|$)/.test(absolute) ? absolute : API + absolute;
  // People type patterns and colours with a literal percent sign or hash.
  const escaped = full.replace(/%(?![0-9a-f]{2})/gi, '%25').replaceAll('#', '%23');
  return new URL(base.replace(/\/+$/, '') + escaped);
}

/** The JSON:API type that is written at this path; undefined where it takes flat objects. */
export function typeAt(path: string): string | undefined {
  const [bare = ''] = path.replace(/^\/?(api\/v1(?=\/))?\/?/, '/').split('?');
  const [place = '', below] = bare.replace(/\/$/, '').split(/\/\d+(?=\/|$)\/?/);
  const definition = DEFINITIONS.find(
    ({ path: own, views = [] }) => own === place || views.some((view) => view.path === place),
  );
  if (below === undefined || below === '') return definition?.type;
  return definition?.relationships[below]?.type;
}

/** The columns of the resources at this path; undefined where their type is not known. */
export function columnsAt(path: string): string[] | undefined {
  const type = typeAt(path);
  const definition = DEFINITIONS.find((known) => known.type === type);
  if (definition === undefined) return undefined;
  const { attributes, relationships } = definition;
  return ['id', ...Object.keys(attributes), ...Object.keys(relationships)];
}

/** `name=text`, `name=@FILE` and `name:=JSON` as attributes. */
async function readFields(fields: string[]): Promise<Record<string, unknown>> {
  const attributes: Record<string, unknown> = {};
  for (const field of fields) {
    const [, name = '', sign, value = ''] = /^([^=:]+)(:?=)([\s\S]*)$/.exec(field) ?? [];
    if (sign === undefined) {
      const forms = 'name=text, name=@FILE nor name:=JSON';
      throw new AppError('bad_request', 400, `${field} is neither ${forms}`);
    }
    attributes[name] = sign === '=' ? await readText(value) : readJson(value, name);
  }
  return attributes;
}

async function readText(value: string): Promise<string> {
  return value.startsWith('@') ? (await readNamed(value.slice(1))).toString('utf8') : value;
}

function readJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError('malformed_json', 400, `${name} is not valid JSON`, { cause });
  }
}

/** The document that writes these fields at this path, or the flat object where it takes one. */
export async function bodyOfFields(path: string, fields: string[]): Promise<string> {
  const attributes = await readFields(fields);
  const type = typeAt(path);
  if (type === undefined) return JSON.stringify(attributes);
  const id = /\/(\d+)\/?$/.exec(path.split('?', 1)[0] ?? '')?.[1];
  const resource = { type, id: id === undefined ? undefined : Number(id), attributes };
  return JSON.stringify({ data: resource });
}

/** What `--data` names: the text itself, `@` and a file, or `-` for standard input. */
export async function readData(data: string, stdin: AsyncIterable<Buffer>): Promise<Buffer> {
  if (data === '-') {
    const chunks: Buffer[] = [];
    for await (const chunk of stdin) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
  return data.startsWith('@') ? await readNamed(data.slice(1)) : Buffer.from(data);
}

async function readNamed(file: string): Promise<Buffer> {
  return await readFile(file).catch((cause: Error) => {
    throw new AppError('bad_request', 400, `${file} cannot be read (${cause.message})`, { cause });
  });
}
