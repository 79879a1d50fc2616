// The command sender and its batches, with a lab of ten devices. Each task begins signed in as admin.

const ALL = '/commands/new?rules=%22%5B%5D%22';

async function open({ page, url, token }, path) {
  await page.goto(url + path);
  const isSignedIn = page.getByRole('navigation', { name: 'Pages' });
  const field = page.getByLabel('API token');
  await isSignedIn.or(field).waitFor();
  if (!(await field.isVisible())) return;
  await field.fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await isSignedIn.waitFor();
  await page.goto(url + path);
}

/** Presses Tab until the element has the focus. */
async function tabTo(page, target) {
  await target.waitFor();
  for (let press = 0; press < 120; press += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error('the element cannot be reached by Tab');
}

export const TASKS = {
  'a command is sent to all devices and watched until it is finished': async (session) => {
    const { page } = session;
    await open(session, '/commands');
    await page.getByRole('link', { name: 'Send a command' }).click();
    await page.getByRole('button', { name: 'Use these devices' }).click();
    await page.getByText('All enrolled devices: 10').waitFor();
    await page.getByLabel('Search commands').fill('ProfileList');
    await page.keyboard.press('Enter');
    await page.getByText('All 10 devices get the command.').waitFor();
    await page.getByLabel('Name of the batch').fill('Which profiles');
    await page.getByRole('button', { name: 'Send to 10 devices' }).click();
    await page.getByRole('heading', { level: 1, name: 'Which profiles' }).waitFor();
    await page.getByText('10 done', { exact: true }).waitFor({ timeout: 60_000 });
    await page.getByText('Finished', { exact: true }).first().waitFor({ timeout: 60_000 });
    await page.getByRole('link', { name: 'Acknowledged 10' }).click();
    await page.waitForURL(/status=Acknowledged/);
    await open(session, '/commands');
    await page.getByRole('link', { name: 'Which profiles' }).waitFor();
  },

  'a required key that is missing is named at its field': async (session) => {
    const { page } = session;
    await open(session, `${ALL}&type=RemoveProfile`);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.locator('input:focus[aria-invalid="true"]').waitFor();
    await page.getByText('Required.', { exact: true }).waitFor();
    await page.getByRole('textbox', { name: 'Identifier' }).fill('org.example');
    await page
      .getByText(/devices? get/)
      .first()
      .waitFor();
  },

  'a command that some devices cannot take says why': async (session) => {
    const { page } = session;
    await open(session, `${ALL}&type=EnableRemoteDesktop`);
    await page.getByText(/of 10 devices gets? the command/).waitFor();
    await page.getByText('Their platform does not have this command.').waitFor();
  },

  'a destructive command for many needs the number typed': async (session) => {
    const { page } = session;
    await open(session, `${ALL}&type=RestartDevice`);
    const restart = page.getByRole('button', { name: /^Restart \d+ devices$/ });
    const count = (await restart.textContent()).match(/\d+/)[0];
    await restart.click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: `Restart ${count} devices` });
    await dialog.getByLabel(`Type ${count} to confirm`).fill('1');
    if (await confirm.isEnabled()) throw new Error('another number confirms the command');
    await dialog.getByLabel(`Type ${count} to confirm`).fill(count);
    await confirm.click();
    await page.waitForURL(/\/commands\/batches\/\d+/);
    await page.getByRole('heading', { level: 1, name: 'RestartDevice' }).waitFor();
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
    await tabTo(page, page.getByRole('button', { name: 'Send to 10 devices' }));
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/commands\/batches\/\d+/);
  },

  'every page of the commands is accessible': async (session) => {
    const { page } = session;
    const types = ['RestartDevice', 'DeviceInformation', 'Settings', 'EraseDevice'];
    const paths = ['/commands', '/commands/new', ...types.map((type) => `${ALL}&type=${type}`)];
    for (const path of [...paths, '/commands/batches/1']) {
      await open(session, path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForTimeout(800);
      await session.assertAccessible();
    }
  },
};
