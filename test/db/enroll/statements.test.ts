import { claimRequest } from '../../../src/db/enroll/enrollment-claim-repository.js';
import { findByName } from '../../../src/db/enroll/enrollment-link-repository.js';
import { approveRequest } from '../../../src/db/enroll/held-enrollment-repository.js';
import { statementTexts, type Work } from '../../helpers/statement-texts.js';

// Built from parts: the snapshot shows each with its parts.
describe('the statements of db/enroll', () => {
  it.each<[string, Work]>([
    ['claim an enrollment request', ({ knex }) => claimRequest(knex, 1)],
    ['approve a held request', ({ knex }) => approveRequest(knex, 1)],
    ['find tags by name', ({ knex }) => findByName(knex, 'tags', ['a'])],
    ['find device groups by name', ({ knex }) => findByName(knex, 'device_groups', ['a'])],
  ])('%s', async (_what, work) => {
    expect(await statementTexts(work, [{}])).toMatchSnapshot();
  });
});
