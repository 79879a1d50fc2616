// What a person sees while the server cannot be reached, and after their session has ended.
import { assertEqual, open } from '../support/steps.mjs';

const LINE = 'No connection to the server. What you see may be old.';
const SOON = { timeout: 10_000 };

const heading = (page, name) => page.getByRole('heading', { level: 1, name });

/** Throws for what the browser has noted besides the missing connection. */
function assertOnlyDisconnected(session) {
  const expected = /ERR_FAILED|ERR_INTERNET_DISCONNECTED|ERR_CONNECTION|ERR_NETWORK/;
  const faults = session.takeFaults().filter((fault) => !expected.test(fault));
  assertEqual(faults.length, 0, `other refusals (${faults})`);
}

/** Does the work while no request gets an answer. */
async function withoutServer(session, work) {
  await session.page.route('**/*', (route) => route.abort());
  try {
    await work();
  } finally {
    await session.page.unrouteAll();
  }
}

async function withoutNetwork({ page }, work) {
  await page.context().setOffline(true);
  try {
    await work();
  } finally {
    await page.context().setOffline(false);
  }
}

export const TASKS = {
  'one line says that the server is gone, also on a page that asks nothing': async (session) => {
    const { page } = session;
    await open(session, '/groups/new');
    await page.getByRole('radio', { name: /^Static/ }).check();
    await withoutServer(session, async () => {
      await page.getByRole('status').getByText(LINE).waitFor(SOON);
      await session.assertAccessible();
    });
    await page.getByText(LINE).waitFor({ state: 'detached', ...SOON });
    assertOnlyDisconnected(session);
  },

  'a search without a network shows no former rows as its result': async (session) => {
    const { page } = session;
    await open(session, '/devices');
    await page.getByRole('row').nth(2).waitFor();
    await withoutNetwork(session, async () => {
      await page.getByText(LINE).waitFor(SOON);
      await page.getByRole('searchbox').fill('nothing has this name');
      await page.getByText('The server cannot be reached.').waitFor(SOON);
      assertEqual(await page.getByRole('row').count(), 0, 'rows');
    });
    await page.getByText(LINE).waitFor({ state: 'detached', ...SOON });
    await page.getByText('The server cannot be reached.').waitFor({ state: 'detached', ...SOON });
    assertOnlyDisconnected(session);
  },

  'a page that has not been loaded opens once the server answers': async (session) => {
    const { page } = session;
    await open(session, '/groups');
    await heading(page, 'Tags and groups').waitFor();
    await page.evaluate(() => {
      globalThis.isSameDocument = true;
    });
    await withoutServer(session, async () => {
      await page.getByRole('link', { name: 'Settings' }).click();
      await page.getByText(LINE).waitFor(SOON);
      await page.waitForTimeout(2_000);
      await page.getByRole('link', { name: 'Devices', exact: true }).waitFor();
    });
    await heading(page, 'Certificates and keys').waitFor();
    assertEqual(await page.evaluate(() => globalThis.isSameDocument), true, 'the same document');
    // Without its stylesheet, the links of the sections would stand in one word.
    const sections = page.getByRole('navigation', { name: 'Sections of the settings' });
    await page.waitForFunction(
      (element) => getComputedStyle(element).display !== 'block',
      await sections.elementHandle(),
    );
    assertOnlyDisconnected(session);
  },

  'a page whose file an upgrade has replaced is loaded anew': async (session) => {
    const { page } = session;
    await open(session, '/groups');
    await heading(page, 'Tags and groups').waitFor();
    await page.evaluate(() => {
      globalThis.isSameDocument = true;
    });
    let isReplaced = true;
    await page.route('**/*', (route) => {
      if (route.request().isNavigationRequest()) isReplaced = false;
      const isGone = isReplaced && route.request().url().includes('/assets/');
      return isGone ? route.fulfill({ status: 404 }) : route.continue();
    });
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.waitForFunction(() => globalThis.isSameDocument === undefined);
    await page.unrouteAll({ behavior: 'wait' });
    await heading(page, 'Overview').waitFor();
    const faults = session.takeFaults().filter((fault) => !/status of 404/.test(fault));
    assertEqual(faults.length, 0, `other refusals (${faults})`);
  },

  'a form that is filled in survives the end of the session': async (session) => {
    const { page, lab, token } = session;
    await open(session, '/groups/new');
    await page.getByLabel('Name', { exact: true }).fill('After the end');
    await page.getByRole('radio', { name: /^Static/ }).check();
    const { data } = await lab.api('GET', '/sessions');
    for (const { id } of data) await lab.query('delete from sessions where id = $1', [id]);
    await lab.until(() =>
      page.evaluate(async () => {
        const answer = await fetch('/api/v1/me', { headers: { 'X-Muster-Console': '1' } });
        return answer.status === 401;
      }),
    );
    await page.getByRole('button', { name: 'Create group' }).click();
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.getByText('Your session has ended.').waitFor();
    await page.locator('input[type="password"]:focus').waitFor();
    await session.assertAccessible();
    await again.getByLabel('API token').fill(token);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await heading(page, 'After the end').waitFor();
    const { meta } = await lab.api('GET', '/device_groups?filter[name]=After the end');
    assertEqual(meta.total, 1, 'groups');
  },
};
