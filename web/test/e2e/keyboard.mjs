// By keyboard alone: read a PIN, retry what failed, see why a device is stuck, look around as a viewer.
import { assertEqual, open, tabTo } from '../support/steps.mjs';

/** The newest device that has enrolled. */
async function newest({ lab }, filter = '') {
  const path = `/devices?filter[is_enrolled]=true&sort=-id&page[size]=1${filter}`;
  const { data } = await lab.api('GET', path);
  return { id: data[0]?.id ?? 0, ...data[0]?.attributes };
}

/** One more device, which behaves as `muster simulate --break` says. */
async function simulated(session, behavior) {
  const before = await newest(session);
  session.lab.simulate(behavior);
  await session.lab.until(async () => (await newest(session)).id > before.id);
  return newest(session);
}

async function press(page, target, key = 'Enter') {
  await tabTo(page, target);
  await page.keyboard.press(key);
}

/** Finds the device with the search, and opens it from the list. */
async function findDevice({ page }, { serial_number: serial, device_name: name }) {
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('/');
  await page.keyboard.type(serial);
  await page.getByText('1 device', { exact: true }).waitFor();
  await press(page, page.getByRole('row').nth(1));
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

const tabOf = (page, name) =>
  page
    .getByRole('navigation', { name: 'What is known of the device' })
    .getByRole('link', { name, exact: true });

export const TASKS = {
  'the PIN of a lock is read by keyboard': async (session) => {
    const { page, lab } = session;
    const mac = await newest(session, '&filter[platform]=macOS');
    const attributes = { request_type: 'DeviceLock' };
    await lab.api('POST', `/devices/${mac.id}/commands`, {
      data: { type: 'commands', attributes },
    });
    await open(session, '/devices');
    await findDevice(session, mac);
    await press(page, tabOf(page, 'Codes and keys'));
    const show = page.getByRole('button', { name: 'Show the PIN of a lock …' }).first();
    await press(page, show);
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').waitFor();
    await tabTo(page, dialog.getByLabel('Reason'));
    await page.keyboard.type('The Mac was found');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: /^\d{6}/ }).waitFor();
    await press(page, dialog.getByRole('button', { name: 'Hide' }));
    await dialog.waitFor({ state: 'detached' });
    assertEqual(await page.getByText(/^\d{6}$/).count(), 0, 'PINs on the page');
    await show.and(page.locator(':focus')).waitFor();
  },

  'what failed is sent again by keyboard': async (session) => {
    const { page, lab } = session;
    const failing = await simulated(session, 'failing');
    const filter = [{ name: 'id', op: 'eq', val: failing.id }];
    const name = 'Certificates by keyboard';
    const attributes = { request_type: 'CertificateList', name, filter };
    await lab.api('POST', '/command_batches', { data: { type: 'command_batches', attributes } });
    await open(session, '/');
    await page.getByRole('heading', { level: 1 }).focus();
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await press(page, page.getByRole('link', { name, exact: true }));
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByText('1 failed').first().waitFor({ timeout: 40_000 });
    await press(page, page.getByRole('button', { name: 'Retry 1 failed' }));
    await press(page, page.getByRole('dialog').getByRole('button', { name: 'Retry 1 failed' }));
    await page.getByText('Repeats the failed of').waitFor();
    // The list shows what the progress says, although nothing is read again from then on.
    await page.getByText('1 failed').first().waitFor({ timeout: 40_000 });
    await page.getByRole('row', { name: /’s \S+ Error / }).waitFor();
    await press(page, page.getByRole('main').getByRole('link', { name: /^Batch \d+$/ }));
    await page.getByText('The failed were repeated in').waitFor();
  },

  'a stuck device is found by keyboard, and says why': async (session) => {
    const { page, lab } = session;
    const { id } = await simulated(session, 'bad-token');
    const path = `/devices?filter[id]=${id}&filter[health]=stuck`;
    await lab.until(async () => (await lab.api('GET', path)).data.length === 1);
    await open(session, '/');
    await press(page, page.getByRole('link', { name: /Stuck/ }).first());
    await page.getByText('Health is stuck').waitFor();
    await page.getByRole('row').nth(1).waitFor();
    await findDevice(session, await newest(session, `&filter[id]=${id}`));
    const diagnosis = page.getByRole('region', { name: 'Diagnosis' });
    await diagnosis.getByText('the push token of the device is wrong').waitFor();
    await press(page, diagnosis.getByRole('button', { name: 'Send a push' }));
    await diagnosis.getByText('APNs refused the push: BadDeviceToken.').waitFor();
  },

  "a viewer's pages are reached by keyboard": async (session) => {
    const { page, lab } = session;
    const printed = await lab.muster('token', 'create', '--name', 'Reader', '--role', 'viewer');
    const mac = await newest(session, '&filter[platform]=macOS');
    await page.context().clearCookies();
    await page.goto(session.url);
    await tabTo(page, page.getByLabel('API token'));
    await page.keyboard.type(printed.split('\n')[0]);
    await page.keyboard.press('Enter');
    await page.getByText('Reader').waitFor();
    try {
      for (const [key, title] of [
        ['c', 'Commands'],
        ['t', 'Tags and groups'],
        ['s', 'Certificates and keys'],
        ['o', 'Overview'],
        ['d', 'Devices'],
      ]) {
        await page.getByRole('heading', { level: 1 }).focus();
        await page.keyboard.press('g');
        await page.keyboard.press(key);
        const heading = page.getByRole('heading', { level: 1, name: title });
        await heading.waitFor();
        await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
      }
      await findDevice(session, mac);
      for (const name of ['Commands', 'Applications', 'Changes']) {
        await press(page, tabOf(page, name));
        await page.locator('.skeleton').first().waitFor({ state: 'detached' });
        assertEqual(await tabOf(page, name).getAttribute('aria-current'), 'page', name);
      }
      assertEqual(await page.getByRole('button', { name: 'Actions' }).count(), 0, 'Actions');
      await press(page, page.getByRole('button', { name: 'Sign out' }));
      await page.getByRole('heading', { name: 'Sign in to Muster' }).waitFor();
    } finally {
      await page.context().clearCookies();
    }
  },
};
