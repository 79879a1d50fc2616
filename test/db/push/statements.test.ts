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
import { statementTexts, type Work } from '../../helpers/statement-texts.js';

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
  it.each<[string, Work]>([
    ['claim due pushes', ({ db }) => claimPushes(db, recipient, 1)],
    ['describe claimed pushes', ({ db }) => describePushes(db, recipient, [1])],
    ['finish claimed pushes', ({ db }) => finishPushes(db, recipient, [])],
    ['store results', ({ db }) => storePushResults(db, recipient, [result])],
    ['request missing pushes', ({ knex }) => requestMissingPushes(knex, recipient, 1)],
    [
      'make waiting pushes due',
      ({ db }) => rearmPushes(db, recipient, { topic: 'a', after: 0, limit: 1, from: 0, every: 1 }),
    ],
    [
      'request pushes',
      ({ knex }) => (recipient === 'device' ? requestPushes : requestUserPushes)(knex, [1]),
    ],
  ])('%s', async (_what, work) => {
    expect(await statementTexts(work)).toMatchSnapshot();
  });
});

describe('the statements for push topics', () => {
  it.each<[string, Work]>([
    ['block a topic', ({ db }) => blockTopic(db, { topic: 'a', reason: 'b', isProbe: false })],
    [
      'keep a topic blocked',
      ({ db }) => blockTopic(db, { topic: 'a', reason: 'b', isProbe: true }),
    ],
    ['claim the test of a blocked topic', ({ db }) => mayTryTopic(db, 'a')],
    ['clear mismatches', ({ knex }) => clearMismatches(knex, [], { after: 0, limit: 1 })],
  ])('%s', async (_what, work) => {
    expect(await statementTexts(work)).toMatchSnapshot();
  });

  it('decide whether a topic has no push certificate', () => {
    expect(isMismatch('d.topic')).toMatchSnapshot();
  });
});
