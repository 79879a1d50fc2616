// A device gets another name.
import { assertEqual, choose, open, tabTo } from '../support/steps.mjs';

/** The same seed makes the same devices: two iPads, of which one is not supervised, and two iPhones. */
const FLEET = ['--devices', '4', '--platform', 'iOS', '--seed', 'names'];
const SUPERVISED = 'C24G9M4GVX';
const UNSUPERVISED = 'VWNK0X6HX2';

async function openDevice(session, filter) {
  const { page, lab } = session;
  const path = `/devices?${filter}&filter[is_enrolled]=true&page[size]=1&sort=id`;
  const find = async () => (await lab.api('GET', path)).data[0];
  await lab.until(async () => typeof (await find())?.attributes.is_supervised === 'boolean', 60);
  const { id, attributes } = await find();
  await open(session, `/devices/${id}`);
  await page.getByRole('heading', { level: 1, name: attributes.device_name }).waitFor();
  return { id, name: attributes.device_name };
}

export const TASKS = {
  'a phone is renamed, and the page shows the name that it has reported': async (session) => {
    const { page, lab } = session;
    lab.enroll(...FLEET);
    const { id, name } = await openDevice(session, `filter[serial_number]=${SUPERVISED}`);
    await page.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Rename …' }).click();
    const dialog = page.getByRole('dialog', { name: `Rename ${name}` });
    const field = dialog.getByLabel('New name');
    const submit = dialog.getByRole('button', { name: 'Rename', exact: true });
    assertEqual(await field.inputValue(), name, 'the name before');
    for (const text of [name, ' ', ` ${name}`]) {
      await field.fill(text);
      assertEqual(await submit.isDisabled(), true, `the button after “${text}”`);
    }
    await field.fill('\u0001');
    await submit.click();
    await dialog.getByText('has a character property lists cannot hold').waitFor();
    await session.assertAccessible();
    await field.fill('Library “4”');
    await submit.click();
    await page.getByText('2 commands queued.').waitFor();
    await page.getByRole('heading', { level: 1, name: 'Library “4”' }).waitFor();
    const { data } = await lab.api('GET', `/devices/${id}/commands?sort=-id&page[size]=2`);
    const types = data.map(({ attributes }) => attributes.request_type).join(' ');
    assertEqual(types, 'DeviceInformation Settings', 'the commands');
  },

  'a phone that is not supervised says why it is not renamed': async (session) => {
    const { page } = session;
    await openDevice(session, `filter[serial_number]=${UNSUPERVISED}`);
    await page.getByRole('button', { name: 'Actions' }).click();
    const rename = page.getByRole('menuitem', { name: 'Rename …' });
    await rename.waitFor();
    assertEqual(await rename.getAttribute('aria-disabled'), 'true', 'Rename');
    await page.getByText('Only for supervised devices.').first().waitFor();
    await page.keyboard.press('Escape');
  },

  'a Mac is renamed by keyboard alone': async (session) => {
    const { page } = session;
    const { name } = await openDevice(session, 'filter[platform]=macOS');
    await choose(page, page.getByRole('button', { name: 'Actions' }), 'Rename …');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: `Rename ${name}` }).waitFor();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('Reading room 4');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Reading room 4' }).waitFor();
    const actions = page.getByRole('button', { name: 'Actions' });
    await tabTo(page, actions);
  },
};
