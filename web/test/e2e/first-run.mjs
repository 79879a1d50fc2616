// The first minutes with a server: from the link that its start prints to ten devices.
import { Lab } from '../support/lab.mjs';
import { assertEqual, tabTo } from '../support/steps.mjs';

const SIMULATE = 'npm run simulate -- ';

async function firstRun(session, activate) {
  const { page } = session;
  const fresh = await Lab.startFresh();
  try {
    await page.goto(fresh.link);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    assertEqual(new URL(page.url()).hash, '', 'the secret in the address');
    await page.getByText('Set the server up, then enroll the first device').waitFor();
    await activate(page.getByRole('link', { name: 'Go to the set-up' }));
    await page.getByRole('heading', { level: 1, name: 'Set-up' }).waitFor();
    const step = page.getByRole('region', { name: 'Try it with simulated devices' });
    const line = await step.locator('code').textContent();
    assertEqual(line.startsWith(SIMULATE), true, line);
    await session.assertAccessible();
    // A terminal on the server's machine, with the settings of the server.
    fresh.start('simulate', ...line.slice(SIMULATE.length).trim().split(' '));
    await step.getByText('10 devices have enrolled.').waitFor({ timeout: 40_000 });
    const { meta } = await fresh.api('GET', '/devices?page[size]=1&filter[is_enrolled]=true');
    assertEqual(meta.total, 10, 'devices that are enrolled');
    await activate(step.getByRole('link', { name: 'Show the devices' }));
    await page.getByText('10 devices', { exact: true }).waitFor();
    await page.getByRole('row').nth(10).waitFor();
    await page.context().clearCookies();
    await page.goto(fresh.link);
    await page.getByText('The link did not work').waitFor();
  } finally {
    // The page would go on asking a server that has ended.
    await page.goto(session.url).catch(() => undefined);
    await fresh.stop();
  }
}

export const TASKS = {
  'a fresh server leads from its link to ten devices, by keyboard alone': (session) =>
    firstRun(session, async (target) => {
      await tabTo(session.page, target);
      await session.page.keyboard.press('Enter');
    }),
};
