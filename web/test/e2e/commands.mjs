// One command for many devices: whom it is for, which command, what would happen, what becomes of it.
import { assertEqual, open, tabTo } from '../support/steps.mjs';

const rules = (...list) => encodeURIComponent(JSON.stringify(list));
const ENROLLED = { name: 'is_enrolled', op: 'eq', val: true };
const PHONES = { name: 'platform', op: 'eq', val: 'iOS' };

const heading = (page, name) => page.getByRole('heading', { level: 1, name }).waitFor();

async function total({ lab }, query) {
  const { meta } = await lab.api('GET', `/devices?page[size]=1&filter[is_enrolled]=true${query}`);
  return meta.total;
}

const devices = (count) => (count === 1 ? '1 device' : `${count} devices`);

/** The state that the page of a batch shows, once it is this one. */
async function waitForState(page, state) {
  await page
    .getByRole('main')
    .getByText(state, { exact: true })
    .first()
    .waitFor({ timeout: 40_000 });
}

export const TASKS = {
  'all devices get a command after a dry run, and the batch finishes': async (session) => {
    const { page } = session;
    const count = await total(session, '');
    await open(session, '/commands');
    await page.getByRole('link', { name: 'Send a command' }).click();
    await heading(page, 'Send a command');
    await page.getByRole('button', { name: 'Use these devices' }).click();
    await page.getByLabel('Search commands').fill('ProfileList');
    await page
      .getByRole('button', { name: /^Get list of installed profiles|^Profile list/i })
      .first()
      .click();
    await page.getByText(`All ${devices(count)} get the command.`).waitFor();
    await session.assertAccessible();
    await page.getByRole('button', { name: `Send to ${devices(count)}` }).click();
    await heading(page, 'ProfileList');
    await waitForState(page, 'Finished');
    await page.getByText(`${count} done`).first().waitFor();
    await open(session, '/commands');
    await page.getByRole('link', { name: 'ProfileList' }).first().waitFor();
  },

  'what restarts several devices needs their number typed': async (session) => {
    const { page, lab } = session;
    await open(session, `/commands/new?rules=${rules(ENROLLED)}&type=RestartDevice`);
    const restart = page.getByRole('button', { name: /^Restart \d+ devices$/ });
    const name = await restart.textContent();
    const count = Number.parseInt(name.slice('Restart '.length), 10);
    await restart.click();
    const dialog = page.getByRole('dialog');
    const submit = dialog.getByRole('button', { name, exact: true });
    assertEqual(await submit.isDisabled(), true, 'the button before the number is typed');
    await session.assertAccessible();
    await dialog.getByLabel(`Type ${count} to confirm`).fill(String(count + 1));
    assertEqual(await submit.isDisabled(), true, 'the button after another number');
    await dialog.getByLabel(`Type ${count} to confirm`).fill(String(count));
    await submit.click();
    await heading(page, 'RestartDevice');
    await waitForState(page, 'Finished');
    const { data } = await lab.api('GET', '/command_batches?filter[request_type]=RestartDevice');
    assertEqual(data.length, 1, 'batches');
  },

  'a required setting that is missing is named at its field': async (session) => {
    const { page } = session;
    await open(session, `/commands/new?rules=${rules(ENROLLED)}&type=RemoveProfile`);
    await page.getByText('Fill in what is required to see who gets the command.').waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.locator('input:focus[aria-invalid="true"]').waitFor();
    await page.getByText('Required.', { exact: true }).waitFor();
  },

  'a command that needs one of several settings says so, and that they exclude each other': async (
    session,
  ) => {
    const { page } = session;
    await open(session, `/commands/new?rules=${rules(PHONES, ENROLLED)}&type=InstallApplication`);
    const group = page.getByRole('group', { name: /^Exactly one of these is needed/ });
    await group.waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await group.getByText('Fill in one of these.').waitFor();
    await group.locator('input:focus').waitFor();
    await session.assertAccessible();
    await group.getByLabel('iTunes store ID').fill('361309726');
    await group.getByText('Fill in one of these.').waitFor({ state: 'detached' });
    await group.getByLabel('Identifier', { exact: true }).fill('org.example.app');
    await group.getByText(/^InstallApplication takes only one of/).waitFor();
    await group.getByLabel('Identifier', { exact: true }).fill('');
    await page.getByRole('button', { name: /^Send to \d+ devices?$/ }).waitFor();
  },

  'a setting says where it is possible, and what its values mean': async (session) => {
    const { page } = session;
    await open(session, `/commands/new?rules=${rules(PHONES, ENROLLED)}&type=Settings`);
    const kind = page.getByLabel('Kind');
    const add = page.getByRole('button', { name: 'Add to Settings' });
    await add.click();
    const wallpaper = page.getByRole('group', { name: 'Wallpaper' });
    await wallpaper.getByText('Only on iOS, supervised.').waitFor();
    await wallpaper.getByLabel('Where').selectOption('Lock screen (1)');
    await kind.selectOption('Accessibility settings');
    await add.click();
    const accessibility = page.getByRole('group', { name: 'Accessibility settings' });
    await accessibility.getByLabel('Text size').selectOption('Largest (11)');
    assertEqual(await page.getByText('Only on .').count(), 0, 'hints without a platform');
    assertEqual(await accessibility.getByLabel('Grayscale').count(), 0, 'settings of no platform');
    await session.assertAccessible();
  },

  'a command that no device can take says why': async (session) => {
    const { page } = session;
    await open(session, `/commands/new?rules=${rules(ENROLLED, PHONES)}&type=SetRecoveryLock`);
    await page.getByText('Their platform does not have this command.').waitFor();
    const submit = page.getByRole('button', { name: /^Send/ });
    assertEqual(await submit.isDisabled(), true, 'the button');
  },

  'what failed is sent again': async (session) => {
    const { page, lab } = session;
    const attributes = { request_type: 'CertificateList', name: 'Certificates of a bad day' };
    const before = await total(session, '');
    lab.simulate('failing');
    await lab.until(async () => (await total(session, '')) > before);
    const { data } = await lab.api('POST', '/command_batches', {
      data: { type: 'command_batches', attributes: { ...attributes, filter: [ENROLLED] } },
    });
    await open(session, `/commands/batches/${data.id}`);
    await heading(page, attributes.name);
    await page.getByText('1 failed').first().waitFor({ timeout: 40_000 });
    await waitForState(page, 'Finished');
    await session.assertAccessible();
    await page.getByRole('button', { name: 'Retry 1 failed' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Retry 1 failed' }).click();
    await page.getByText('Repeats the failed of').waitFor();
    await waitForState(page, 'Finished');
  },

  'a command is sent by keyboard alone': async (session) => {
    const { page } = session;
    await open(session, '/commands/new');
    await page.getByRole('heading', { level: 1 }).focus();
    await tabTo(page, page.getByRole('button', { name: 'Use these devices' }));
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByLabel('Search commands'));
    await page.keyboard.type('DeviceInformation');
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('checkbox', { name: 'OSVersion', exact: true }));
    await page.keyboard.press('Space');
    const submit = page.getByRole('button', { name: /^Send to \d+ devices?$/ });
    await tabTo(page, submit);
    await page.keyboard.press('Enter');
    await heading(page, 'DeviceInformation');
    await waitForState(page, 'Finished');
  },

  'what was filled in is not left without being asked': async (session) => {
    const { page } = session;
    await open(session, `/commands/new?rules=${rules(ENROLLED)}&type=RemoveProfile`);
    await page.getByLabel(/^Identifier/).fill('com.example.wifi');
    await page.getByRole('link', { name: 'Devices', exact: true }).click();
    await page.getByRole('button', { name: 'Stay' }).click();
    await page.getByRole('link', { name: 'Devices', exact: true }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    await heading(page, 'Devices');
  },

  'the form of each kind of command is accessible': async (session) => {
    const { page } = session;
    for (const type of ['DeviceInformation', 'Settings', 'EraseDevice']) {
      await open(session, `/commands/new?rules=${rules(ENROLLED)}&type=${type}`);
      await page.getByRole('heading', { level: 2, name: 'What will happen' }).waitFor();
      await session.assertAccessible();
    }
  },
};
