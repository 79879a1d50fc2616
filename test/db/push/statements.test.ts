import type { Knex } from 'knex';
import type { Database } from '../../../src/db/connection/database.js';
import {
  requestMissingPushes,
  requestPushes,
  requestUserPushes,
} from '../../../src/db/push/push-enqueue.js';
import { claimPushes, describePushes, finishPushes } from '../../../src/db/push/push-queue.js';
import { PUSH_RECIPIENTS } from '../../../src/db/push/push-recipients.js';
import { storePushResults } from '../../../src/db/push/push-results.js';
import { clearMismatches, isMismatch } from '../../../src/db/push/push-topic-mismatch.js';
import { blockTopic, mayTryTopic, rearmPushes } from '../../../src/db/push/push-topics.js';

const texts: string[] = [];
const raw = (text: string) => {
  texts.push(text);
  return Promise.resolve({ rows: [], rowCount: 0 });
};
const client = {
  acquireConnection: () => Promise.resolve({}),
  releaseConnection: () => Promise.resolve(),
  query: (_connection: unknown, { sql }: { sql: string }) => {
    texts.push(sql);
    return Promise.resolve({ response: { rows: [] } });
  },
};
const knex = { raw, client, userParams: {}, isTransaction: true } as unknown as Knex.Transaction;
const query = (statement: { text: string }) => raw(statement.text);
const db = { namedStatements: true, background: { query } } as unknown as Database;

/** The statements that `work` runs, as they could be pasted into psql. */
async function statementsOf(work: () => Promise<unknown>): Promise<string> {
  texts.length = 0;
  await work();
  return texts.join('\n;\n');
}

const result = {
  recipientId: 1,
  result: 'delivered',
  apnsId: null,
  isDelivered: true,
  pushState: null,
  sealedPush: null,
  since: null,
};

describe.each(PUSH_RECIPIENTS)('the statements for the pushes of a %s', (recipient) => {
  it.each([
    ['claim due pushes', () => claimPushes(db, recipient, 1)],
    ['describe claimed pushes', () => describePushes(db, recipient, [1])],
    ['finish claimed pushes', () => finishPushes(db, recipient, [])],
    ['store results', () => storePushResults(db, recipient, [result])],
    ['request missing pushes', () => requestMissingPushes(knex, recipient, 1)],
    [
      'make waiting pushes due',
      () => rearmPushes(db, recipient, { topic: 'a', after: 0, limit: 1, from: 0, every: 1 }),
    ],
    [
      'request pushes',
      () => (recipient === 'device' ? requestPushes : requestUserPushes)(knex, [1]),
    ],
  ])('%s', async (_what, work) => {
    expect(await statementsOf(work)).toMatchSnapshot();
  });
});

describe('the statements for push topics', () => {
  it.each([
    ['block a topic', () => blockTopic(db, { topic: 'a', reason: 'b', isProbe: false })],
    ['keep a topic blocked', () => blockTopic(db, { topic: 'a', reason: 'b', isProbe: true })],
    ['claim the test of a blocked topic', () => mayTryTopic(db, 'a')],
    ['clear mismatches', () => clearMismatches(knex, [], { after: 0, limit: 1 })],
  ])('%s', async (_what, work) => {
    expect(await statementsOf(work)).toMatchSnapshot();
  });

  it('decide whether a topic has no push certificate', () => {
    expect(isMismatch('d.topic')).toMatchSnapshot();
  });
});
