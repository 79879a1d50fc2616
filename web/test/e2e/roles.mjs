// What the role of a token changes, and what ends with the token.
import { assertEqual, open, tabTo } from '../support/steps.mjs';

/** What a viewer may use on any page. Everything else must not be offered. */
const HARMLESS =
  /^(Light|Dark|Sign out|Copy|Views|Saved views|Columns|CSV|\+ Add filter|Remove|Show more|Try again|Revoke the session of Visitor)/;
const PAGES = [
  '/',
  '/devices',
  '/commands',
  '/groups',
  '/groups/tags',
  '/groups/new',
  '/commands/new',
  '/set-up',
  '/settings/certificates',
  '/settings/doctor',
  '/settings/organization',
  '/settings/tokens',
  '/settings/sessions',
  '/settings/jobs',
  '/settings/backups',
  '/settings/audit',
];
const TABS = [
  '',
  'commands',
  'items',
  'applications',
  'profiles',
  'certificates',
  'users',
  'secrets',
];

/** The token is on the first line. */
async function createToken({ lab }, name, role) {
  const printed = await lab.muster('token', 'create', '--name', name, '--role', role);
  return printed.split('\n')[0];
}

/** Signs in with the token, in place of the person who is signed in. */
async function signIn(session, token, path) {
  const { page, url } = session;
  await page.context().clearCookies();
  await page.goto(url + path);
  await page.getByLabel('API token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

async function waitForPage(page) {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction(() => document.querySelector('.skeleton') === null);
}

/** The names of the buttons that can be pressed, except those that copy or open something. */
function changingButtons(page) {
  return page.locator('main button:enabled, main a.button').evaluateAll((buttons) =>
    buttons
      .filter((button) => !button.matches('.copy, [aria-expanded], [role="columnheader"] *'))
      .filter((button) => button.closest('fieldset:disabled, details') === null)
      .map((button) => button.getAttribute('aria-label') ?? button.textContent.trim()),
  );
}

export const TASKS = {
  'a viewer is offered nothing that the server would refuse': async (session) => {
    const { page, lab } = session;
    const token = await createToken(session, 'Visitor', 'viewer');
    await signIn(session, token, '/');
    const refused = [];
    const listen = (response) => {
      if (response.status() === 403)
        refused.push(`${response.request().method()} ${response.url()}`);
    };
    page.on('response', listen);
    try {
      const { data } = await lab.api('GET', '/devices?filter[is_enrolled]=true&page[size]=1');
      const tabs = TABS.map((tab) => `/devices/${data[0].id}${tab === '' ? '' : `?tab=${tab}`}`);
      const group = { type: 'device_groups', attributes: { name: 'Seen by all', kind: 'static' } };
      const created = await lab.api('POST', '/device_groups', { data: group });
      const offered = [];
      await page.goto(`${session.url}/groups/new`);
      await page.getByText('Changes need the role operator.').waitFor();
      assertEqual(await page.locator('main input').count(), 0, 'fields of a new group');
      for (const path of [...PAGES, ...tabs, `/groups/${created.data.id}`]) {
        await page.goto(session.url + path);
        await waitForPage(page);
        const names = (await changingButtons(page)).filter((name) => !HARMLESS.test(name));
        offered.push(...names.map((name) => `${path}: ${name}`));
      }
      assertEqual(offered.join('\n'), '', 'what a viewer is offered');
      assertEqual(refused.join('\n'), '', 'what the server refused');
      const sections = page.getByRole('navigation', { name: 'Sections of the settings' });
      for (const name of ['Backups', 'Audit trail']) {
        await page.goto(`${session.url}/settings/tokens`);
        await sections.getByRole('link', { name: 'Sessions' }).waitFor();
        assertEqual(await sections.getByRole('link', { name }).count(), 0, `links to ${name}`);
      }
      await page.goto(`${session.url}/settings/audit`);
      await page.getByText('This needs the role admin').waitFor();
      await session.assertAccessible();
    } finally {
      page.off('response', listen);
      await page.context().clearCookies();
    }
  },

  'a token is revoked in the settings by keyboard, and its sessions end': async (session) => {
    const { page, lab } = session;
    const token = await createToken(session, 'helpdesk', 'operator');
    await signIn(session, token, '/devices');
    const sessionsOf = async () =>
      (await lab.api('GET', '/sessions?page[size]=200')).data.filter(
        ({ attributes }) => attributes.name === 'helpdesk',
      ).length;
    assertEqual(await sessionsOf(), 1, 'sessions of the token');
    const cookies = await page.context().cookies();
    await page.context().clearCookies();
    await open(session, '/settings/tokens');
    const button = page.getByRole('button', { name: /^Revoke the token helpdesk,/ });
    await tabTo(page, button);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Revoke this token?' });
    await dialog.getByText('What uses helpdesk is refused at once').waitFor();
    await tabTo(page, dialog.getByRole('button', { name: 'Revoke' }));
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('The token helpdesk is revoked.').waitFor();
    await button.waitFor({ state: 'detached' });
    assertEqual(await page.getByText(token).count(), 0, 'secrets on the page');
    await session.assertAccessible();
    assertEqual(await sessionsOf(), 0, 'sessions after the token was revoked');
    await page.context().clearCookies();
    await page.context().addCookies(cookies);
    await page.goto(`${session.url}/devices`);
    await page.getByRole('heading', { name: 'Sign in to Muster' }).waitFor();
    await page.getByLabel('API token').fill(token);
    await page.keyboard.press('Enter');
    await page.locator('[aria-invalid="true"]').waitFor();
    await open(session, '/settings/sessions');
    await page.getByRole('row').nth(1).waitFor();
    assertEqual(await page.getByText('helpdesk').count(), 0, 'rows of the token');
  },
};
