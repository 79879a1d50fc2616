// What is done to one device: erase it, find it again, clear its passcode.
import { assertEqual, choose, open } from '../support/steps.mjs';

/** The same seed makes the same devices: two supervised iPhones with a passcode, and an iPad. */
const FLEET = ['--devices', '3', '--platform', 'iOS', '--seed', 'phones'];
const LOST = { device_name: 'Keiko’s iPhone', serial_number: 'C021VX3MDTJ8' };
const TABLET = { device_name: 'Liam’s iPad', serial_number: 'L021YJ0RDG' };
const PHONE = { device_name: 'Hugo’s iPhone', serial_number: 'DF99FRMG02' };

async function deviceOf({ lab }, { serial_number: serial }) {
  const { data } = await lab.api('GET', `/devices?filter[serial_number]=${serial}`);
  return data.length === 0 ? undefined : { id: data[0].id, ...data[0].attributes };
}

/** Opens the page of the device, once it has enrolled and reported its inventory. */
async function openDevice(session, wanted) {
  const { page, lab } = session;
  if ((await deviceOf(session, LOST)) === undefined) lab.enroll(...FLEET);
  await lab.until(async () => (await deviceOf(session, wanted))?.passcode_present === true, 60);
  const device = await deviceOf(session, wanted);
  await open(session, `/devices/${device.id}?tab=commands`);
  await page.getByRole('heading', { level: 1, name: device.device_name }).waitFor();
  return device;
}

/** The actions are offered once the server has said which the device can take. */
async function openAction({ page }, name) {
  await page.getByRole('button', { name: 'Actions' }).click();
  await page.getByRole('menuitem', { name, exact: true }).click();
  return page.getByRole('dialog');
}

async function waitForAcknowledged({ lab }, { id }, type) {
  const path = `/devices/${id}/commands?filter[request_type]=${type}&sort=-id`;
  const newest = async () => (await lab.api('GET', path)).data;
  await lab.until(async () => (await newest())[0]?.attributes.status === 'Acknowledged');
  return newest();
}

/** The fields of the device on its page, as the API has them now. */
async function waitForDevice({ lab }, { id }, name, value) {
  const path = `/devices/${id}?fields[devices]=${name}`;
  await lab.until(async () => (await lab.api('GET', path)).data.attributes[name] === value);
}

/** As the server knows it: it caches the rows of sessions for a second. */
async function minutesSinceSignIn(page) {
  const signedInAt = await page.evaluate(async () => {
    const answer = await fetch('/api/v1/me', { headers: { 'X-Muster-Console': '1' } });
    return (await answer.json()).data.attributes.authenticated_at;
  });
  return (Date.now() - Date.parse(signedInAt)) / 60_000;
}

export const TASKS = {
  'a device is erased once its name is typed, with a recent sign-in only': async (session) => {
    const { page, lab, token } = session;
    const device = await openDevice(session, PHONE);
    const dialog = await openAction(session, 'Erase …');
    await dialog.getByText('All data on the device is deleted').waitFor();
    const submit = dialog.getByRole('button', { name: 'Erase', exact: true });
    const typed = dialog.getByLabel(`Type ${device.device_name} to confirm`);
    for (const text of ['', 'Hugo’s', TABLET.device_name, TABLET.serial_number]) {
      await typed.fill(text);
      assertEqual(await submit.isDisabled(), true, `the button after “${text}”`);
    }
    await session.assertAccessible();
    await lab.query(`update sessions set authenticated_at = now() - interval '16 minutes'`);
    await lab.until(async () => (await minutesSinceSignIn(page)) > 15);
    await typed.fill("Hugo's iPhone");
    await submit.click();
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.getByText('needs a sign-in of the last 15 minutes').waitFor();
    const path = `/devices/${device.id}/commands?filter[request_type]=EraseDevice`;
    assertEqual((await lab.api('GET', path)).data.length, 0, 'commands before the sign-in');
    const faults = session.takeFaults();
    assertEqual(faults.length, 1, `refusals (${faults})`);
    assertEqual(/status of 403/.test(faults[0]), true, faults[0]);
    await again.getByLabel('API token').fill(token);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('1 command queued.').waitFor();
    const commands = await waitForAcknowledged(session, device, 'EraseDevice');
    assertEqual(commands.length, 1, 'commands that erase');
    await page.getByRole('button', { name: /^EraseDevice Acknowledged/ }).waitFor();
    await page.getByText('The device has acknowledged it.').waitFor();
    await page.getByText('It counts as enrolled until it enrolls again.').waitFor();
    await page.getByText('Attention', { exact: true }).first().waitFor();
    await page.getByText('OK', { exact: true }).waitFor({ state: 'detached' });
    for (const claim of ['1 command queued.', 'Nothing is wrong', 'OK']) {
      assertEqual(await page.getByText(claim, { exact: claim === 'OK' }).count(), 0, claim);
    }
  },

  'a device is erased by keyboard alone, by its serial number': async (session) => {
    const { page } = session;
    const device = await openDevice(session, TABLET);
    await choose(page, page.getByRole('button', { name: 'Actions' }), 'Erase …');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    const submit = dialog.getByRole('button', { name: 'Erase', exact: true });
    await dialog.getByText('All data on the device is deleted').waitFor();
    await page.keyboard.type(device.serial_number.slice(0, -1));
    await page.keyboard.press('Enter');
    assertEqual(await submit.isDisabled(), true, 'the button before the last character');
    await page.keyboard.type(device.serial_number.slice(-1));
    await page.keyboard.press('Enter');
    await page.getByText('1 command queued.').waitFor();
    const commands = await waitForAcknowledged(session, device, 'EraseDevice');
    assertEqual(commands.length, 1, 'commands that erase');
  },

  'Lost Mode is turned on with a message, and off again by keyboard': async (session) => {
    const { page } = session;
    const device = await openDevice(session, LOST);
    const dialog = await openAction(session, 'Turn Lost Mode on …');
    const submit = dialog.getByRole('button', { name: 'Turn Lost Mode on' });
    await dialog.getByLabel(`Type ${device.device_name} to confirm`).fill(device.device_name);
    await dialog.getByText('Enter a message or a phone number.').waitFor();
    assertEqual(await submit.isDisabled(), true, 'the button without a message');
    await dialog.getByLabel('Message on the screen').fill('Please call the school');
    await dialog.getByLabel('Phone number on the screen').fill('+15550100');
    await submit.click();
    await page.getByText('1 command queued.').waitFor();
    const [command] = await waitForAcknowledged(session, device, 'EnableLostMode');
    const { data } = await session.lab.api('GET', `/commands/${command.id}`);
    const { Message, PhoneNumber } = data.attributes.parameters;
    assertEqual(`${Message} ${PhoneNumber}`, 'Please call the school +15550100', 'on the screen');
    await refreshInventory(session);
    await waitForDevice(session, device, 'is_mdm_lost_mode_enabled', true);
    const actions = page.getByRole('button', { name: 'Actions' });
    await page.getByRole('heading', { level: 1 }).focus();
    await choose(page, actions, /^Turn Lost Mode off/);
    await page.keyboard.press('Enter');
    await page.getByText('1 command queued.').waitFor();
    await waitForAcknowledged(session, device, 'DisableLostMode');
    await refreshInventory(session);
    await waitForDevice(session, device, 'is_mdm_lost_mode_enabled', false);
  },

  'a passcode is cleared by keyboard, and not without an unlock token': async (session) => {
    const { page, lab } = session;
    const device = await openDevice(session, LOST);
    const clear = await choose(
      page,
      page.getByRole('button', { name: 'Actions' }),
      'Clear passcode …',
    );
    assertEqual(await clear.getAttribute('aria-disabled'), 'false', 'Clear passcode with a token');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Anyone who holds the device can use it.').waitFor();
    await page.keyboard.type(device.device_name);
    await page.keyboard.press('Enter');
    await page.getByText('1 command queued.').waitFor();
    const [command] = await waitForAcknowledged(session, device, 'ClearPasscode');
    const { data } = await lab.api('GET', `/commands/${command.id}`);
    assertEqual(data.attributes.parameters.UnlockToken, '********', 'the token in the command');
    await refreshInventory(session);
    await waitForDevice(session, device, 'passcode_present', false);
    await lab.query(
      `update device_secrets set sealed = '' where device_id = $1 and kind = 'unlock_token'`,
      [device.id],
    );
    await page.reload();
    await page.getByRole('button', { name: 'Actions' }).click();
    await page.getByText('The device has sent no unlock token in this enrollment.').waitFor();
    assertEqual(
      await clear.getAttribute('aria-disabled'),
      'true',
      'Clear passcode without a token',
    );
    await session.assertAccessible();
    await page.keyboard.press('Escape');
  },
};

async function refreshInventory({ page }) {
  await page.getByRole('button', { name: 'Refresh the inventory' }).click();
  await page.getByText(/^\d+ commands queued\./).waitFor();
}
