// Where the focus goes when an action removes what had it, and what is announced.
import { open, tabTo } from '../support/steps.mjs';

/** A command that the device fetched three times and never answered, on which the finding stands. */
async function leaveUnanswered(lab, device) {
  const attributes = { request_type: 'DeviceInformation', parameters: { Queries: ['OSVersion'] } };
  const after = new Date(Date.now() + 86_400_000).toISOString();
  const data = { type: 'commands', attributes: { ...attributes, after } };
  const { data: command } = await lab.api('POST', `/devices/${device}/commands`, { data });
  await lab.query(
    `update commands set status = 'Sent', attempts = 3, sent_at = now() where id = $1`,
    [command.id],
  );
}

const waitForFocus = (target) => target.and(target.page().locator(':focus')).waitFor();

async function pressByKeyboard(page, button) {
  await tabTo(page, button);
  await page.keyboard.press('Enter');
}

export const TASKS = {
  'the cure of a finding is announced, and the focus stays at the diagnosis': async (session) => {
    const { page, lab } = session;
    const { data } = await lab.api('GET', '/devices?filter[is_enrolled]=true&page[size]=1');
    await leaveUnanswered(lab, data[0].id);
    await open(session, `/devices/${data[0].id}?tab=commands`);
    const diagnosis = page.getByRole('region', { name: 'Diagnosis' });
    await pressByKeyboard(page, diagnosis.getByRole('button', { name: 'Cancel the command' }));
    await diagnosis.getByRole('status').getByText('The command is cancelled.').waitFor();
    await diagnosis.getByText('Nothing is wrong').waitFor();
    await waitForFocus(diagnosis.getByRole('heading', { name: 'Diagnosis' }));
  },

  'the focus goes to the next tag when one is deleted': async (session) => {
    const { page, lab } = session;
    for (const name of ['Focus 1', 'Focus 2']) {
      await lab.api('POST', '/tags', { data: { type: 'tags', attributes: { name } } });
    }
    await open(session, '/groups/tags');
    await pressByKeyboard(page, page.getByRole('button', { name: 'Delete Focus 1' }));
    const dialog = page.getByRole('dialog');
    await pressByKeyboard(page, dialog.getByRole('button', { name: 'Delete' }));
    await page.getByRole('status').getByText('The tag Focus 1 is deleted.').waitFor();
    await page
      .getByRole('row', { name: /Focus 2/ })
      .locator(':focus')
      .waitFor();
    await session.assertAccessible();
  },

  'the focus stays in the list when a token is revoked': async (session) => {
    const { page, lab } = session;
    await lab.muster('token', 'create', '--name', 'Left', '--role', 'viewer');
    await open(session, '/settings/tokens');
    await pressByKeyboard(page, page.getByRole('button', { name: /^Revoke the token Left,/ }));
    const dialog = page.getByRole('dialog');
    await pressByKeyboard(page, dialog.getByRole('button', { name: 'Revoke' }));
    await page.getByRole('status').getByText('The token Left is revoked.').waitFor();
    await page.locator('h1:focus, tr :focus').waitFor();
  },
};
