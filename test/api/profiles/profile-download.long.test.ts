import fc from 'fast-check';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { ProfileImport } from '../../../src/profiles/profile-import.js';
import { ProfileRebuild } from '../../../src/profiles/profile-rebuild.js';
import {
  buildPlistNodes,
  type PlistNode,
  type PlistNodeDict,
  parsePlistNodes,
} from '../../../src/protocol/plist/plist.js';
import { startApp, type TestApp } from '../../helpers/app.js';
import { payload, profile } from '../../profiles/sample-profiles.js';
import { ordered, plistNodeDict } from '../../protocol/plist/plist-node-arbitrary.js';
import { downloadFile, uploadNodes } from '../profile-samples.js';

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

/** Members of a generated dictionary, at any place among the keys that a profile must have. */
function mixed(required: PlistNodeDict, others: PlistNodeDict, first: number): PlistNodeDict {
  const extra = [...others].filter(([key]) => !required.has(key));
  return new Map([...extra.slice(0, first), ...required, ...extra.slice(first)]);
}

/** Profiles of payload types nobody knows, with anything a property list can hold in them. */
const anyProfile = fc
  .tuple(fc.array(fc.tuple(plistNodeDict, fc.nat(6)), { maxLength: 3 }), plistNodeDict, fc.nat(6))
  .map(([payloads, members, first]) => {
    const content = payloads.map(([others, before]) =>
      mixed(payload('com.example.generated'), others, before),
    );
    return mixed(profile(content), members, first);
  });

describe('the download of a generated profile', () => {
  it('equals the upload: 40 generated profiles over HTTP', async () => {
    await fc.assert(
      fc.asyncProperty(anyProfile, async (nodes) => {
        const { status, body } = await uploadNodes(app, nodes);
        expect(status).toBe(201);
        const file = await downloadFile(app, `${body.data.id}`);
        expect(ordered(parsePlistNodes(file.body))).toEqual(ordered(nodes));
        const original = await downloadFile(app, `${body.data.id}?original=true`);
        expect(original.body).toEqual(buildPlistNodes(nodes));
      }),
      { numRuns: 40 },
    );
  });

  it('equals what was stored: 200 generated profiles without HTTP', async () => {
    const taking = new ProfileImport({ box: app.box, anchors: () => [] });
    const giving = new ProfileRebuild({ box: app.box, sign: () => undefined });
    const throughRows = (nodes: PlistNodeDict): Promise<PlistNode> =>
      inTransaction(app.db, async (trx) => {
        const checked = await taking.check(buildPlistNodes(nodes), { strict: false });
        const { id } = await taking.store(trx, checked, 'test');
        const version = await giving.version(trx, id);
        return parsePlistNodes(await giving.file(trx, id, { ...version, form: 'rebuilt' }));
      });
    await fc.assert(
      fc.asyncProperty(anyProfile, async (nodes) => {
        expect(ordered(await throughRows(nodes))).toEqual(ordered(nodes));
      }),
      { numRuns: 200 },
    );
  });
});
