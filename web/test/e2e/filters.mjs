// Filters of the device list beyond its columns.
import { assertEqual, open } from '../support/steps.mjs';

export const TASKS = {
  'devices are found by a fact that has no column': async (session) => {
    const { page, lab } = session;
    const known = await lab.api('GET', '/devices?sort=-device_capacity&filter[platform]=iOS');
    const capacities = known.data.map(({ attributes }) => attributes.device_capacity ?? 0);
    const most = String(Math.floor(Math.max(...capacities)));
    const rule = [{ name: 'device_capacity', op: 'ge', val: Number(most) }];
    const list = `/devices?page[size]=1&filter[]=${JSON.stringify(rule)}`;
    const count = (await lab.api('GET', list)).meta.total;
    assertEqual(count > 0, true, `devices with ${most} GB`);
    await open(session, '/devices');
    await page.getByRole('row').nth(1).waitFor();
    await page.getByRole('button', { name: '+ Add filter' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Attribute').selectOption({ label: 'Capacity (GB)' });
    await dialog.getByLabel('Comparison').selectOption('is at least');
    await dialog.getByLabel('Attribute').selectOption({ label: 'Last contact' });
    await dialog.getByLabel('Value').fill('-3');
    await dialog.getByText('Type a whole number of days from 1 to 3,660.').waitFor();
    const isDisabled = await dialog.getByRole('button', { name: 'Add filter' }).isDisabled();
    assertEqual(isDisabled, true, 'the button is disabled with -3 days');
    await dialog.getByLabel('Attribute').selectOption({ label: 'Capacity (GB)' });
    await dialog.getByLabel('Comparison').selectOption('is at least');
    await dialog.getByLabel('Value').fill(most);
    await session.assertAccessible();
    await dialog.getByRole('button', { name: 'Add filter' }).click();
    await page.getByText(`Capacity (GB) is at least ${most}`).waitFor();
    await page
      .getByText(`${count} ${count === 1 ? 'device' : 'devices'}`, { exact: true })
      .waitFor();
    await page.reload();
    await page.getByRole('button', { name: /^Remove the filter Capacity/ }).click();
    await page.getByRole('row').nth(2).waitFor();
  },

  'a filter that is none shows no devices, and why': async (session) => {
    const { page } = session;
    await open(session, '/devices?f=["health~zz~stuck"]');
    await page.getByRole('alert').waitFor();
    assertEqual(await page.getByRole('checkbox').count(), 0, 'rows to select');
    await session.assertAccessible();
    await page.getByRole('button', { name: 'Remove the filter health~zz~stuck' }).click();
    await page.getByRole('row').nth(2).waitFor();
    const others = session.takeFaults().filter((fault) => !fault.includes('status of 400'));
    assertEqual(others.join(), '', 'faults beside the refusal');
  },
};
