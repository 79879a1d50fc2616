// Signing in and out.
import { assertEqual, open } from '../support/steps.mjs';

export const TASKS = {
  'a wrong token is refused in plain words': async ({ page, url }) => {
    await page.context().clearCookies();
    await page.goto(url);
    await page.getByLabel('API token').fill('wrong-token-0123456789');
    await page.getByRole('button', { name: 'Sign in' }).click();
    const field = page.getByLabel('API token');
    await page.locator('[aria-invalid="true"]').waitFor();
    const about = await field.getAttribute('aria-describedby');
    const said = await page.locator(`[id="${about}"]`).textContent();
    assertEqual(said, 'This token is not valid, or was revoked.', 'the refusal');
  },

  'a person signs in by keyboard and gets the page of the address': async (session) => {
    const { page, url, token } = session;
    await page.context().clearCookies();
    await page.goto(`${url}/devices`);
    await page.getByLabel('API token').focus();
    await page.keyboard.type(token);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor();
    await page.getByRole('row').nth(3).waitFor();
  },

  'signing out leaves nothing to read': async (session) => {
    const { page, lab } = session;
    const { data } = await lab.api('GET', '/devices?fields[devices]=serial_number');
    const serial = data[0].attributes.serial_number;
    await open(session, '/devices');
    await page.getByText(serial).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Muster' }).waitFor();
    assertEqual(await page.getByText(serial).count(), 0, 'serial numbers on the page');
    const status = await page.evaluate(async () => {
      const headers = { 'X-Muster-Console': '1' };
      return (await fetch('/api/v1/devices', { headers })).status;
    });
    assertEqual(status, 401, 'what the browser gets now');
    const stored = await page.evaluate(() =>
      JSON.stringify({ ...localStorage, ...sessionStorage }),
    );
    if (stored.includes(session.token)) throw new Error('the browser has stored the token');
    await page.goBack();
    await page.getByRole('heading', { name: 'Sign in to Muster' }).waitFor();
    assertEqual(await page.getByText(serial).count(), 0, 'serial numbers after going back');
  },
};
