// `npm run test:web`: a person's tasks in Debian's chromium, against the built server with its lab.
// CHROMIUM names another browser.
import { Session, start } from '../support/session.mjs';

const TASKS = {
  'a wrong token is refused in plain words': async ({ page, token, url }) => {
    await page.goto(url);
    await page.getByLabel('API token').fill('wrong-token-0123456789');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('This token is not valid').waitFor();
    await page.getByLabel('API token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('row').nth(3).waitFor();
  },
  'a device is found by half of its serial number, also after a reload': async ({ page }) => {
    const serial = await page.getByRole('row').nth(2).getByRole('cell').nth(1).textContent();
    await page.getByRole('searchbox').fill(serial.slice(3).toLowerCase());
    await page.getByText('1 device', { exact: true }).waitFor();
    await page.reload();
    await page.getByRole('row').nth(1).getByText(serial).waitFor();
  },
  'a device is locked once its name is typed, by keyboard': async ({ page }) => {
    await page.getByRole('row').nth(1).getByRole('link').focus();
    await page.keyboard.press('Enter');
    const name = await page.getByRole('heading', { level: 1 }).textContent();
    await page.getByRole('button', { name: 'Lock …' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    const command = page.locator('summary', { hasText: 'DeviceLock' });
    await command.filter({ hasText: 'Acknowledged' }).first().waitFor();
  },
  'signing out leaves nothing to read': async ({ page }) => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  },
};

const lab = await start();
const session = await Session.open(lab);
let failed = 0;
try {
  for (const [name, task] of Object.entries(TASKS)) {
    try {
      await task(session);
      await session.assertAccessible();
      session.assertQuiet();
      process.stdout.write(`ok ${name}\n`);
    } catch (error) {
      failed += 1;
      process.stdout.write(`not ok ${name}\n${error.stack}\n`);
    }
  }
} finally {
  await session.close();
  await lab.stop();
}
process.stdout.write(`${Object.keys(TASKS).length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
