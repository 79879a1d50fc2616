// One device: what is wrong, what is known, what can be done.
import { assertEqual, choose, open, tabTo } from '../support/steps.mjs';

const TABS = [
  ...['Commands', 'Assigned', 'Applications', 'Profiles', 'Certificates', 'Users'],
  ...['Codes and keys', 'Changes', 'Facts'],
];
const MARKUP = `<script>document.title = "run"</script><img src=x onerror="alert(1)"> "Ada's"`;

async function deviceOf({ lab }, filter) {
  const { data } = await lab.api('GET', `/devices?page[size]=1&sort=id&${filter}`);
  return { id: data[0].id, ...data[0].attributes };
}

const aMac = (session) => deviceOf(session, 'filter[platform]=macOS&filter[is_enrolled]=true');

async function openDevice(session, { id, device_name: name }, query = '') {
  await open(session, `/devices/${id}${query}`);
  await session.page.getByRole('heading', { level: 1, name }).waitFor();
}

export const TASKS = {
  'a Mac is locked by keyboard once its name is typed, and acknowledges it': async (session) => {
    const { page } = session;
    const mac = await aMac(session);
    await openDevice(session, mac, '?tab=commands');
    await choose(page, page.getByRole('button', { name: 'Actions' }), 'Lock …');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('asks for a PIN of six digits').waitFor();
    const submit = dialog.getByRole('button', { name: 'Lock', exact: true });
    assertEqual(await submit.isDisabled(), true, 'the button before the name is typed');
    await page.keyboard.type(mac.device_name);
    const pin = dialog.getByRole('textbox', { name: 'PIN' });
    await pin.fill('12');
    await page.keyboard.press('Enter');
    await dialog.getByText('Must be six digits').waitFor();
    assertEqual(await page.getByText(/must be six digits/i).count(), 1, 'texts of the fault');
    await pin.fill('');
    await page.keyboard.press('Enter');
    await page.getByText('1 command queued.').waitFor();
    const line = page.getByRole('button', { name: /^DeviceLock Acknowledged/ });
    await line.waitFor();
    await tabTo(page, line);
    await page.keyboard.press('Enter');
    await page.getByText('The device carried the command out.').waitFor();
  },

  'the PIN of the lock is shown to an admin who says why, and hidden again': async (session) => {
    const { page, lab } = session;
    await openDevice(session, await aMac(session), '?tab=secrets');
    await page.getByRole('button', { name: 'Show the PIN of a lock …' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('The Mac is back');
    await dialog.getByRole('button', { name: 'Show', exact: true }).click();
    await dialog.getByRole('button', { name: /^\d{6}/ }).waitFor();
    await session.assertAccessible();
    await dialog.getByRole('button', { name: 'Hide' }).click();
    await dialog.waitFor({ state: 'detached' });
    assertEqual(await page.getByText(/^\d{6}$/).count(), 0, 'PINs on the page');
    const audit = await lab.api('GET', '/audit_events?sort=-id&page[size]=5');
    if (!JSON.stringify(audit).includes('The Mac is back')) {
      throw new Error('the audit trail has no reason');
    }
  },

  'what a Mac cannot do says why': async (session) => {
    const { page } = session;
    await openDevice(session, await aMac(session));
    await page.getByRole('button', { name: 'Actions' }).click();
    const button = page.getByRole('menuitem', { name: 'Clear passcode …' });
    assertEqual(await button.getAttribute('aria-disabled'), 'true', 'Clear passcode');
    await page.getByText('Not available on macOS.').first().waitFor();
    await session.assertAccessible();
    await button.click({ force: true });
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  },

  'the actions are a menu: one stop for Tab, arrows and letters within': async (session) => {
    const { page } = session;
    await openDevice(session, await aMac(session));
    const actions = page.getByRole('button', { name: 'Actions' });
    const items = page.getByRole('menuitem');
    const current = () => page.evaluate(() => document.activeElement.textContent);
    await tabTo(page, actions);
    await page.keyboard.press('ArrowDown');
    await items.first().and(page.locator(':focus')).waitFor();
    const names = await items.evaluateAll((all) => all.map((one) => one.textContent));
    for (const [key, name] of [
      ['Tab', names[0]],
      ['ArrowUp', names.at(-1)],
      ['ArrowDown', names[0]],
      ['End', names.at(-1)],
      ['Home', names[0]],
      ['r', 'Restart …'],
      ['r', 'Rename …'],
    ]) {
      await page.keyboard.press(key);
      assertEqual(await current(), name, key);
    }
    await page.keyboard.press('Home');
    await page.waitForTimeout(800);
    await page.keyboard.type('ren');
    assertEqual(await current(), 'Rename …', 'ren');
    await page.keyboard.press('Home');
    await page.waitForTimeout(800);
    await page.keyboard.press('c');
    const refused = items.and(page.locator(':focus'));
    assertEqual(await refused.getAttribute('aria-disabled'), 'true', 'Clear passcode');
    const about = await refused.evaluate(
      (item) => document.getElementById(item.getAttribute('aria-describedby')).textContent,
    );
    assertEqual(about, 'Not available on macOS.', 'the reason');
    await page.keyboard.press('Enter');
    assertEqual(await current(), 'Clear passcode …', 'after Enter');
    await page.keyboard.press('Escape');
    await actions.and(page.locator(':focus')).waitFor();
    assertEqual(await items.count(), 0, 'items after Escape');
  },

  'a device that never enrolled is offered nothing, and not called healthy': async (session) => {
    const { page, lab } = session;
    const attributes = { serial_number: 'NEVER0000001', device_name: 'Never enrolled' };
    const { data } = await lab.api('POST', '/devices', { data: { type: 'devices', attributes } });
    await openDevice(session, { id: data.id, device_name: 'Never enrolled' });
    await page.getByText('It has not enrolled yet').waitFor();
    assertEqual(await page.getByText('Nothing is wrong').count(), 0, 'claims of health');
    await page.getByRole('button', { name: 'Actions' }).click();
    for (const name of ['Lock …', 'Restart …', 'Shut down …', 'Rename …', 'Erase …']) {
      const button = page.getByRole('menuitem', { name, exact: true });
      assertEqual(await button.getAttribute('aria-disabled'), 'true', name);
      assertEqual(
        await button.locator('xpath=following-sibling::span').textContent(),
        'Not enrolled.',
        name,
      );
    }
    await page.keyboard.press('Escape');
  },

  'a stuck device says why, and the proposed request is sent': async (session) => {
    const { page, lab } = session;
    lab.simulate('bad-token');
    let stuck;
    for (let second = 0; second < 30 && stuck === undefined; second += 1) {
      await page.waitForTimeout(1000);
      stuck = await deviceOf(session, 'filter[health]=stuck').catch(() => undefined);
    }
    await openDevice(session, stuck);
    const diagnosis = page.getByRole('region', { name: 'Diagnosis' });
    await diagnosis.getByText('the push token of the device is wrong').waitFor();
    await diagnosis.getByRole('button', { name: 'Send a push' }).click();
    await diagnosis.getByText('APNs refused the push: BadDeviceToken.').waitFor();
  },

  'a number of the overview leads to its devices': async (session) => {
    const { page, lab } = session;
    const { data } = await lab.api('GET', '/devices?filter[findings]=push_token_refused');
    await open(session, '/');
    await page.getByRole('link', { name: /^Push token refused/ }).click();
    await page.getByText('Findings include Push token refused').waitFor();
    for (const { attributes } of data) {
      await page.getByRole('row').filter({ hasText: attributes.serial_number }).waitFor();
    }
    assertEqual(await page.getByRole('row').count(), data.length + 1, 'rows with their heading');
    const enrolled = '/devices?page[size]=1&filter[is_enrolled]=true&filter[platform]=iOS';
    const { meta } = await lab.api('GET', enrolled);
    await open(session, '/');
    await page.getByRole('link', { name: `iOS ${meta.total}`, exact: true }).click();
    await page.getByText(`${meta.total} devices`, { exact: true }).waitFor();
  },

  'each tab shows what the device has reported': async (session) => {
    const { page } = session;
    await openDevice(session, await aMac(session));
    const tabs = page.getByRole('navigation', { name: 'What is known of the device' });
    for (const name of TABS) {
      const tab = tabs.getByRole('link', { name, exact: true });
      await tab.click();
      assertEqual(await tab.getAttribute('aria-current'), 'page', name);
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      assertEqual(await page.getByRole('alert').count(), 0, `errors in ${name}`);
      await session.assertAccessible();
    }
  },

  'a long list goes on when asked': async (session) => {
    const { page } = session;
    const mac = await aMac(session);
    await openDevice(session, mac, '?tab=applications');
    await page.getByText(/^50 of /).waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByRole('row').nth(60).waitFor();
  },

  'markup in the name of a device is shown as text': async (session) => {
    const { page, lab } = session;
    const attributes = {
      serial_number: 'XSS000000001',
      device_name: MARKUP,
      hostname: MARKUP,
      asset_tag: MARKUP,
    };
    const { data } = await lab.api('POST', '/devices', { data: { type: 'devices', attributes } });
    await openDevice(session, { id: data.id, device_name: MARKUP });
    assertEqual(await page.title(), `${MARKUP} · Muster`, 'title of the page');
    assertEqual(await page.locator('main script, main img').count(), 0, 'elements of the name');
    await open(session, '/devices?q=XSS000000001');
    await page.getByText(MARKUP).first().waitFor();
    await page.getByRole('row').nth(1).getByRole('checkbox').check();
    assertEqual(await page.locator('main script, main img').count(), 0, 'elements in the list');
  },
};
