import { feed, type Parser } from '../bench/soak/mutations/feed.js';
import { parsers } from '../bench/soak/mutations/parsers.js';

const INPUTS = 500;

/** Far above what any takes: only a search that never ends, or nearly, goes beyond it. */
const HANGS_MS = 5_000;

let all: Map<string, Parser>;

beforeAll(async () => {
  all = new Map((await parsers()).map((parser) => [parser.name, parser]));
});

const NAMES = [
  'certificate',
  'certificates in PEM',
  'certification request',
  'public key',
  'private key in PEM',
  'PEM',
  'distinguished name',
  'PKCS #12',
  'SignedData',
  'certificates only',
  'Mdm-Signature',
  'EnvelopedData',
  'SCEP message',
  'signed S/MIME message',
  'AuthEnvelopedData',
  'sealed S/MIME message',
  'recipients of a message',
  'file of certificates (PKCS #7)',
  'revocation list',
  'OCSP request',
  'signed device information',
  'status report',
  'certificate in a header',
  'server token',
  'answer of DEP',
  'bypass code',
  'property list',
  'property list as nodes',
  'message of a device',
];

it('knows every parser', () => {
  expect([...all.keys()]).toEqual(NAMES);
});

describe.each(NAMES)('the parser of a %s', (name) => {
  const parser = () => {
    const found = all.get(name);
    if (found === undefined) throw new Error(`no parser ${name}`);
    return found;
  };

  it('accepts what it was made for', async () => {
    for (const seed of parser().seeds) await parser().parse(seed);
  });

  it('refuses mutated input by an AppError or reads it, and nothing else happens', async () => {
    const { faults, slowestMs, accepted } = await feed(parser(), INPUTS, 'tests');
    expect(faults).toEqual([]);
    expect(slowestMs).toBeLessThan(HANGS_MS);
    expect(accepted).toBeLessThan(INPUTS);
  });
});
