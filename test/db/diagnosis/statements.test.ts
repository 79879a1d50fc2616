import { findTimelineFacts } from '../../../src/db/diagnosis/command-timeline.js';
import { findFindings } from '../../../src/db/diagnosis/findings.js';
import {
  claimHealthWork,
  evaluateHealth,
  hasHealthWork,
} from '../../../src/db/diagnosis/kept-health.js';
import { statementTexts, type Work } from '../../helpers/statement-texts.js';

const limits = { silent: 1, busy: 1, stale: 1, setup: 1, grace: 1 };

// Built from parts: the snapshot shows each with its parts.
describe('the statements of db/diagnosis', () => {
  it.each<[string, Work]>([
    ['look for devices to evaluate', ({ db }) => hasHealthWork(db, limits)],
    ['claim devices to evaluate', ({ knex }) => claimHealthWork(knex, { ...limits, limit: 1 })],
    ['evaluate the rules', ({ knex }) => evaluateHealth(knex, [1], limits)],
    ['find the findings of a device', ({ knex }) => findFindings(knex, 1, limits)],
    ['read the timeline of a command', ({ knex }) => findTimelineFacts(knex, 1, 1)],
  ])('%s', async (_what, work) => {
    expect(await statementTexts(work)).toMatchSnapshot();
  });
});
