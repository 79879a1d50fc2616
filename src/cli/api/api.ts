import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Config } from '../../config/config.js';
import { AppError } from '../../errors.js';
import { httpUrl } from '../options.js';
import { type ApiCall, type ApiReply, callApi, readAdminToken } from './api-client.js';
import { apiUrl, bodyOfFields, columnsAt, readData } from './api-request.js';
import { formatTable, type TableOptions, toDocument } from './api-table.js';

/** Columns of a terminal of unknown width. */
const WIDTH = 120;

/** The options of `muster api`. */
export interface ApiOptions {
  data?: string;
  field?: string[];
  header?: string[];
  url?: string;
  token?: string;
  ca?: string;
  includeHeaders?: boolean;
  raw?: boolean;
  all?: boolean;
  table?: boolean;
  /** Attributes to show with `table`. */
  columns?: string[];
}

export interface ApiIo {
  out: { write(text: string | Buffer): unknown; columns?: number | undefined };
  err: { write(text: string): unknown };
  stdin: AsyncIterable<Buffer>;
  /** Read only for what the options leave out. */
  config: () => Pick<Config, 'publicUrl' | 'adminToken' | 'dataDir'>;
}

/** Sends one request to the API and prints the answer. Resolves with the exit code. */
export async function api(
  [method, path]: [method: string, path: string],
  options: ApiOptions,
  io: ApiIo,
): Promise<number> {
  const call = await prepare([method, path], options, io);
  if (options.all) return await printAll(call, options, io);
  const reply = await callApi(call);
  if (options.includeHeaders || call.method === 'HEAD') io.out.write(headText(reply));
  io.out.write(options.raw ? reply.body : await bodyText(reply, options, { path, io }));
  return verdict(reply, io);
}

/** A table of the resources if the options ask for one; errors and other answers stay JSON. */
async function bodyText(
  reply: ApiReply,
  options: ApiOptions,
  { path, io }: { path: string; io: ApiIo },
): Promise<string | Buffer> {
  const isTable = options.table && isJson(reply) && reply.status < 300;
  const document = isTable ? toDocument(parseJson(reply.body)) : undefined;
  if (document === undefined) return readable(reply);
  return await formatTable(document, tableOptions(path, options, io));
}

function tableOptions(path: string, { columns }: ApiOptions, { out }: ApiIo): TableOptions {
  return { columns, known: columnsAt(path), width: out.columns ?? WIDTH };
}

async function prepare(
  [method, path]: [string, string],
  options: ApiOptions,
  io: ApiIo,
): Promise<ApiCall> {
  const { data, field, ca } = options;
  if (data !== undefined && field !== undefined) refuse('use either --data or --field');
  if (options.all && method.toUpperCase() !== 'GET') refuse('--all is for GET');
  if (options.table && options.raw) refuse('use either --table or --raw');
  if (options.columns !== undefined && !options.table) refuse('--columns goes with --table');
  const fromFields = field && Buffer.from(await bodyOfFields(path, field));
  return {
    method: method.toUpperCase(),
    url: apiUrl(options.url ?? io.config().publicUrl, path),
    token: options.token ?? (await readAdminToken(io.config())),
    headers: readHeaders(options.header ?? []),
    body: data === undefined ? fromFields : await readData(data, io.stdin),
    ca: ca === undefined ? undefined : await readCa(ca),
  };
}

function refuse(message: string): never {
  throw new AppError('bad_request', 400, message);
}

async function readCa(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((error: Error) =>
    refuse(`${file} cannot be read (${error.message})`),
  );
}

function readHeaders(lines: string[]): Record<string, string> {
  const pairs = lines.map((line) => {
    const [, name, value] = /^([\w-]+): *(.*)$/.exec(line) ?? refuse(`${line} is no header`);
    return [name, value];
  });
  return Object.fromEntries(pairs);
}

interface Page {
  data?: unknown;
  included?: unknown[];
  links?: { next?: string | null };
}

/** Every resource of every page: one to a line, or one table. */
async function printAll(call: ApiCall, options: ApiOptions, io: ApiIo): Promise<number> {
  const all: Required<Pick<Page, 'included'>> & { data: unknown[] } = { data: [], included: [] };
  const [base = '', path = ''] = call.url.href.split('/api/v1', 2);
  for (let url: URL | undefined = call.url; url !== undefined; ) {
    const reply = await callApi({ ...call, url });
    const { data, included = [], links } = isJson(reply) ? (parseJson(reply.body) as Page) : {};
    if (reply.status !== 200 || !Array.isArray(data)) {
      io.out.write(readable(reply));
      return verdict(reply, io);
    }
    all.included.push(...included);
    if (options.table) all.data.push(...data);
    else for (const resource of data) io.out.write(`${JSON.stringify(resource)}\n`);
    url = links?.next ? apiUrl(base, links.next) : undefined;
  }
  if (options.table) {
    io.out.write(await formatTable(all, tableOptions(path, options, io)));
  }
  return 0;
}

function isJson({ headers }: ApiReply): boolean {
  return /[/+]json\b/.test(headers['content-type'] ?? '');
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return {};
  }
}

function readable(reply: ApiReply): string | Buffer {
  if (!isJson(reply) || reply.body.length === 0) return reply.body;
  return `${JSON.stringify(parseJson(reply.body), null, 2)}\n`;
}

function headText({ status, statusText, headers }: ApiReply): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
  return [`${status} ${statusText}`, ...lines, '', ''].join('\n');
}

function verdict({ status, statusText }: ApiReply, { err }: ApiIo): number {
  if (status >= 200 && status < 300) return 0;
  err.write(`muster: ${status} ${statusText}\n`);
  return 1;
}

/** AppError 400 for an empty list. */
function splitNames(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  return names.includes('') ? refuse('--columns has an empty name') : names;
}

function collect(value: string, former: string[] = []): string[] {
  return [...former, value];
}

/** Adds `api` with its options to the program; `finish` gets the exit code. */
export function addApiCommand(
  program: Command,
  config: ApiIo['config'],
  finish: (code: number) => void,
): void {
  program
    .command('api')
    .description("ask the running server's API, with the token of the data directory")
    .argument('<method>', 'GET, POST, PATCH, DELETE …')
    .argument('<path>', "like '/devices?page[size]=5'; /api/v1 may be left out")
    .option('-d, --data <json>', 'the body; @FILE reads a file, - standard input')
    .option(
      '-f, --field <name=text>',
      'an attribute to write; name=@FILE reads it from a file, name:=JSON is for other values',
      collect,
    )
    .option('-H, --header <name: value>', 'a header to send', collect)
    .option('-i, --include-headers', 'print status and headers too')
    .option('--all', 'every page of a list, one resource to a line')
    .option('--raw', 'print the answer as it came')
    .option('--table', 'print a table in place of JSON')
    .option('--columns <names>', '--table: attributes to show, separated by commas', splitNames)
    .option('--url <url>', 'the server, in place of PUBLIC_URL', httpUrl)
    .option('--token <token>', "in place of ADMIN_TOKEN and the data directory's")
    .option('--ca <file>', 'certificates (PEM) to trust for https, besides the well-known ones')
    .action(async (method: string, path: string, options: ApiOptions) => {
      const { stdout: out, stderr: err, stdin } = process;
      // Ends quietly after `muster api … | head`.
      out.on('error', () => process.exit(0));
      finish(await api([method, path], options, { out, err, stdin, config }));
    });
}
