// A double click, and a press that is repeated because no answer came, do one thing.
import { assertEqual, open } from '../support/steps.mjs';

const ENROLLED = { name: 'is_enrolled', op: 'eq', val: true };
const SENDER = `/commands/new?rules=${encodeURIComponent(JSON.stringify([ENROLLED]))}&type=`;

/** Double-clicks what sends; returns the writes that the browser has sent until `done`. */
async function writesOf({ page }, button, done) {
  const sent = [];
  const note = (request) => {
    const isWrite = request.method() === 'POST' && !/dry_run|preview/.test(request.url());
    if (isWrite) sent.push(request);
  };
  page.on('request', note);
  // The clicks of a person are some 100 ms apart.
  await button.dblclick({ delay: 50 });
  await done();
  await page.waitForTimeout(500);
  page.off('request', note);
  return sent;
}

/** Runs the work while the first answer from this address is lost: the server has done what was asked. */
async function withLostAnswer(session, address, work) {
  const { page } = session;
  let lost = 0;
  await page.route(address, async (route) => {
    if (lost > 0) return route.continue();
    lost += 1;
    await route.fetch();
    await route.abort();
  });
  try {
    await work();
  } finally {
    await page.unrouteAll();
  }
  const faults = session.takeFaults().filter((fault) => !/ERR_FAILED/.test(fault));
  assertEqual(faults.length, 0, `other refusals (${faults})`);
}

async function lengthOf(list, length) {
  for (let tenth = 0; tenth < 50 && list.length < length; tenth += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assertEqual(list.length, length, 'requests');
}

const heading = (page, name) => page.getByRole('heading', { level: 1, name }).waitFor();

/** Opens the last question before several devices are restarted, with their number typed. */
async function fillInRestart(session) {
  const { page } = session;
  await open(session, `${SENDER}RestartDevice`);
  await page.getByRole('button', { name: /^Restart \d+ devices$/ }).click();
  const dialog = page.getByRole('dialog', { name: /^Restart (\d+) devices\?$/ });
  await dialog.waitFor();
  const [count] = /\d+/.exec(await dialog.getByRole('heading').textContent());
  await dialog.locator('input:focus').waitFor();
  await dialog.getByLabel(`Type ${count} to confirm`).fill(count);
  return dialog.getByRole('button', { name: `Restart ${count} devices` });
}

export const TASKS = {
  'a double click restarts several devices once': async (session) => {
    const { page, lab } = session;
    const path = '/command_batches?filter[request_type]=RestartDevice';
    const before = (await lab.api('GET', path)).meta.total;
    const submit = await fillInRestart(session);
    const sent = await writesOf(session, submit, () => heading(page, 'RestartDevice'));
    assertEqual(sent.length, 1, 'requests');
    assertEqual((await lab.api('GET', path)).meta.total - before, 1, 'batches');
  },

  'a restart whose answer was lost is not repeated by the next press': async (session) => {
    const { page, lab } = session;
    const path = '/command_batches?filter[request_type]=RestartDevice';
    const before = (await lab.api('GET', path)).meta.total;
    const submit = await fillInRestart(session);
    await withLostAnswer(session, /command_batches\?confirm=/, async () => {
      await submit.click();
      await page.getByRole('dialog').getByText('That did not work').waitFor();
      assertEqual((await lab.api('GET', path)).meta.total - before, 1, 'batches before');
      await submit.click();
      await heading(page, 'RestartDevice');
    });
    assertEqual((await lab.api('GET', path)).meta.total - before, 1, 'batches after');
  },

  'a double click locks a device once': async (session) => {
    const { page, lab } = session;
    const { data } = await lab.api('GET', '/devices?filter[platform]=iOS&page[size]=1');
    const [{ id, attributes }] = data;
    await open(session, `/devices/${id}`);
    await page.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Lock …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/to confirm$/).fill(attributes.serial_number);
    const submit = dialog.getByRole('button', { name: 'Lock', exact: true });
    const sent = await writesOf(session, submit, () => dialog.waitFor({ state: 'detached' }));
    assertEqual(sent.length, 1, 'requests');
    const path = `/devices/${id}/commands?filter[request_type]=DeviceLock`;
    assertEqual((await lab.api('GET', path)).meta.total, 1, 'commands');
  },

  'a double click creates one group and one view': async (session) => {
    const { page, lab } = session;
    await open(session, '/groups/new');
    await page.getByLabel('Name', { exact: true }).fill('Once');
    await page.getByRole('radio', { name: /^Static/ }).check();
    const create = page.getByRole('button', { name: 'Create group' });
    const groups = await writesOf(session, create, () => heading(page, 'Once'));
    assertEqual(groups.length, 1, 'requests for the group');
    assertEqual((await lab.api('GET', '/device_groups?filter[name]=Once')).meta.total, 1, 'groups');
    await open(session, '/devices');
    await page.getByRole('button', { name: 'Saved views' }).click();
    await page.getByRole('button', { name: 'Save this view …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save this view' });
    await dialog.locator('input:focus').waitFor();
    await dialog.getByLabel('Name').fill('Once');
    const save = dialog.getByRole('button', { name: /^Save/ });
    const views = await writesOf(session, save, () => dialog.waitFor({ state: 'detached' }));
    assertEqual(views.length, 1, 'requests for the view');
    assertEqual((await lab.api('GET', '/saved_views?filter[name]=Once')).meta.total, 1, 'views');
  },

  'a download whose answer was lost makes one key': async (session) => {
    const { page, lab } = session;
    const keys = async () => (await lab.api('GET', '/rsa_private_keys?page[size]=1')).meta.total;
    const before = await keys();
    await open(session, '/set-up');
    const step = page.getByRole('region', { name: /^5\. Apple Business Manager/ });
    const download = step.getByRole('button', { name: 'Download certificate' });
    await withLostAnswer(session, /dep\/certificate\/download/, async () => {
      await download.click();
      await step.getByText('That did not work').waitFor();
      const [file] = await Promise.all([page.waitForEvent('download'), download.click()]);
      assertEqual(file.suggestedFilename(), 'muster-dep.pem', 'file');
    });
    assertEqual((await keys()) - before, 1, 'keys');
  },

  'an upload is repeated with its Idempotency-Key, and another file has another': async (
    session,
  ) => {
    const { page } = session;
    const sent = [];
    page.on('request', (request) => {
      if (/stoken\/upload/.test(request.url())) sent.push(request.headers()['idempotency-key']);
    });
    await open(session, '/set-up');
    const step = page.getByRole('region', { name: /^5\. Apple Business Manager/ });
    const upload = step.getByRole('button', { name: 'Upload token' });
    const field = step.getByLabel('Server token (.p7m)');
    const file = { name: 'token.p7m', mimeType: 'application/pkcs7-mime' };
    await field.setInputFiles({ ...file, buffer: Buffer.from('no token') });
    const refusal = step.getByText(/is not a readable S\/MIME message/);
    for (const count of [1, 2]) {
      await upload.click();
      await lengthOf(sent, count);
      await refusal.waitFor();
    }
    await field.setInputFiles({ ...file, buffer: Buffer.from('no token either') });
    await upload.click();
    await lengthOf(sent, 3);
    assertEqual(sent[0]?.length, 32, 'length of the key');
    assertEqual(sent[1] === sent[0], true, 'the same file has the same key');
    assertEqual(sent[2] === sent[0], false, 'another file has the same key');
    await refusal.waitFor();
    session.takeFaults();
  },
};
