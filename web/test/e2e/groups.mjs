// Tags, groups, settings and the set-up. Each task begins signed in as admin, wherever the last ended.
import { assertEqual, open, tabTo } from '../support/steps.mjs';

const PAGES = [
  '/groups',
  '/groups/tags',
  '/groups/new',
  '/settings/certificates',
  '/settings/doctor',
  '/settings/organization',
  '/settings/tokens',
  '/settings/sessions',
  '/settings/jobs',
  '/settings/backups',
  '/settings/audit',
  '/set-up',
];

export const TASKS = {
  'a smart group is made with the live count beside its rule': async (session) => {
    const { page } = session;
    await open(session, '/groups');
    await page.getByRole('link', { name: 'New group' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Macs');
    const first = page.getByRole('group', { name: 'Comparison 1' });
    await first.getByLabel('Value').selectOption('iOS');
    const phones = await page.getByText(/^\d+ devices? match/).textContent();
    await first.getByLabel('Value').selectOption('macOS');
    await page.getByRole('button', { name: '+ Add comparison' }).click();
    const second = page.getByRole('group', { name: 'Comparison 2' });
    await second.getByLabel('Fact').selectOption({ label: 'OS version' });
    await page.getByText('Fill in every comparison').waitFor();
    await second.getByLabel('Comparison', { exact: true }).selectOption({ label: 'is more than' });
    await second.getByLabel('Value').fill('1');
    await page.getByText(/^\d+ devices? match/).waitFor();
    await page.waitForTimeout(1000);
    const macs = await page.getByText(/^\d+ devices? match/).textContent();
    const counts = await session.lab.api('GET', '/devices/facets?by=platform');
    for (const [platform, said] of [
      ['iOS', phones],
      ['macOS', macs],
    ]) {
      const { count } = counts.meta.facets.platform.find(({ value }) => value === platform);
      assertEqual(Number.parseInt(said, 10), count, `devices with ${platform}`);
    }
    await page.getByRole('button', { name: 'Create group' }).click();
    await page.getByRole('heading', { level: 1, name: 'Macs' }).waitFor();
    const count = Number.parseInt(macs, 10);
    await page.getByRole('link', { name: `Show the ${count} device` }).click();
    await page.getByText('Groups include Macs').waitFor();
    await page.getByText(`${count} device`, { exact: false }).first().waitFor();
  },

  'a smart group is made by keyboard alone': async (session) => {
    const { page } = session;
    await open(session, '/groups');
    await page.getByRole('heading', { level: 1 }).focus();
    await tabTo(page, page.getByRole('link', { name: 'New group' }));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'New group' }).waitFor();
    await tabTo(page, page.getByLabel('Name', { exact: true }));
    await page.keyboard.type('Phones and tablets');
    const comparison = page.getByRole('group', { name: 'Comparison 1' });
    await tabTo(page, comparison.getByLabel('Fact'));
    await page.keyboard.type('Supervised');
    await tabTo(page, comparison.getByLabel('Comparison', { exact: true }));
    await page.keyboard.type('is no');
    await page.getByText(/^\d+ devices? match/).waitFor();
    await tabTo(page, page.getByRole('button', { name: 'Create group' }));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Phones and tablets' }).waitFor();
    await page.getByLabel('Fact').and(page.locator('select')).waitFor();
  },

  'a changed group is not left without being asked': async (session) => {
    const { page } = session;
    await open(session, '/groups');
    await page.getByRole('link', { name: 'Phones and tablets', exact: true }).click();
    await page.getByLabel('Description', { exact: true }).fill('Not saved');
    await page.getByRole('link', { name: 'Devices', exact: true }).click();
    await page.getByRole('button', { name: 'Stay' }).click();
    await page.getByRole('heading', { level: 1, name: 'Phones and tablets' }).waitFor();
    await page.getByRole('link', { name: 'Devices', exact: true }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor();
  },

  'a value that the server would refuse is said at its field': async (session) => {
    const { page } = session;
    await open(session, '/groups/new');
    await page.getByLabel('Name', { exact: true }).fill('Silent');
    const comparison = page.getByRole('group', { name: 'Comparison 1' });
    await comparison.getByLabel('Fact').selectOption({ label: 'Last contact' });
    await comparison.getByLabel('Days').fill('0');
    await comparison.getByText('Type a whole number of days from 1 to 3,660.').waitFor();
    const save = page.getByRole('button', { name: 'Create group' });
    assertEqual(await save.isDisabled(), true, 'the button is disabled with 0 days');
    await session.assertAccessible();
    await comparison.getByLabel('Days').fill('30');
    await page.getByText(/^\d+ devices? match/).waitFor();
    assertEqual(await save.isDisabled(), false, 'the button is disabled with 30 days');
  },

  'a rule that the server refuses has its faults named': async (session) => {
    const { page } = session;
    await open(session, '/groups/new');
    await page.getByRole('button', { name: 'Write as JSON' }).click();
    const rule = '[{"name":"battery_level","op":"lt","val":0.2}]';
    await page.getByLabel('Rule as JSON').fill(rule);
    await page.getByText('changes with every report').waitFor();
  },

  'a tag is made and renamed by keyboard alone': async (session) => {
    const { page } = session;
    await open(session, '/groups/tags');
    await page.getByRole('heading', { level: 1 }).focus();
    await tabTo(page, page.getByRole('button', { name: 'New tag' }));
    await page.keyboard.press('Enter');
    await page.keyboard.type('Pupils');
    await page.keyboard.press('Enter');
    await page.getByRole('cell', { name: 'Pupils', exact: true }).waitFor();
    await tabTo(page, page.getByRole('button', { name: 'Edit Pupils' }));
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('Learners');
    await page.keyboard.press('Enter');
    await page.getByRole('cell', { name: 'Learners', exact: true }).waitFor();
  },

  'devices are tagged from the list, and the tag shows them': async (session) => {
    const { page } = session;
    await open(session, '/devices');
    await page.getByRole('row').nth(1).getByRole('checkbox').check();
    await page.getByRole('row').nth(2).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Tag or group …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Tag', { exact: true }).selectOption({ label: 'A new tag' });
    await dialog.getByLabel('Name').fill('Kiosk');
    await dialog.getByRole('button', { name: 'Add 2 devices' }).click();
    await page.getByText('2 devices added to Kiosk.').waitFor();
    await open(session, '/groups/tags');
    await page.getByRole('link', { name: 'Show the 2 devices of Kiosk' }).click();
    await page.getByText('Tags include Kiosk').waitFor();
    await page.getByText('2 devices', { exact: true }).waitFor();
  },

  'a session is revoked by keyboard': async (session) => {
    const { page, url, token } = session;
    const headers = { 'Content-Type': 'application/json', 'User-Agent': 'curl/8' };
    const body = JSON.stringify({ token });
    await fetch(`${url}/api/v1/sessions`, { method: 'POST', headers, body });
    await open(session, '/settings/sessions');
    const revoke = page.getByRole('button', { name: /in curl, number \d+$/ });
    await revoke.waitFor();
    await page.getByRole('heading', { level: 1 }).focus();
    await tabTo(page, revoke);
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Revoke' }));
    await page.keyboard.press('Enter');
    await page.getByText(/The session of .* has ended\./).waitFor();
    await revoke.waitFor({ state: 'detached' });
  },

  'the organization is named, and what is not valid is said at its field': async (session) => {
    const { page } = session;
    await open(session, '/settings/organization');
    await page.getByLabel('Name', { exact: true }).fill('Example School');
    await page.getByRole('button', { name: 'Save organization' }).click();
    await page.getByText('Saved.').waitFor();
    await page.reload();
    await page.getByLabel('Country in certificates (C)').fill('Germany');
    await page.getByRole('button', { name: 'Save organization' }).click();
    await page.getByText('2 letters').waitFor();
  },

  'the audit trail is filtered by its action': async (session) => {
    const { page } = session;
    await open(session, '/settings/audit');
    await page.getByLabel('Action begins with').fill('organizations.');
    await page
      .getByRole('cell', { name: /^organizations\.update/ })
      .first()
      .waitFor();
    await page
      .getByRole('cell', { name: /^tags\./ })
      .first()
      .waitFor({ state: 'detached' });
    await page.getByLabel('Action begins with').fill('');
    const details = page.getByText('Details', { exact: true });
    for (const index of [0, 1]) await details.nth(index).click();
    await session.assertAccessible();
  },

  'an enrollment link is made in the set-up': async (session) => {
    const { page } = session;
    await open(session, '/set-up');
    const step = page.getByRole('region', { name: '3. Who may enroll' });
    await step.getByText('Anyone who reaches this server can enroll a device.').waitFor();
    await step.getByLabel('Usable for (days)').fill('0');
    await step.getByText('Must be a whole number from 1 to 3,650.').waitFor();
    await step.getByRole('button', { name: 'Make a link' }).click();
    assertEqual(await page.getByText('/enroll/').count(), 0, 'links of no days');
    await step.getByLabel('Usable for (days)').fill('2');
    await page.getByRole('button', { name: 'Make a link' }).click();
    await page.getByText('/enroll/').first().waitFor();
  },

  'every page of tags, groups, settings and set-up is accessible': async (session) => {
    const { page } = session;
    for (const path of PAGES) {
      await open(session, path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      await session.assertAccessible();
    }
  },
};
