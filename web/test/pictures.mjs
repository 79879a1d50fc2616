// `node web/test/pictures.mjs DIR`, after `npm run build`: a picture of every page of the console over the lab,
// at the width of a desk in both themes and at that of a phone. CHROMIUM names another browser.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Lab } from './support/lab.mjs';
import { DESK, PHONE, Session } from './support/session.mjs';
import { open } from './support/steps.mjs';

const [directory = 'pictures'] = process.argv.slice(2);
const VIEWS = [
  { name: 'light', theme: 'light', viewport: DESK },
  { name: 'dark', theme: 'dark', viewport: DESK },
  { name: 'phone', theme: 'light', viewport: PHONE },
];
/** What a page may still load after its first content. */
const LOADING_MS = 500;
const TABS = [
  ...['commands', 'items', 'applications', 'profiles', 'certificates'],
  ...['users', 'secrets', 'changes', 'former'],
];
const SETTINGS = [
  ...['certificates', 'doctor', 'organization', 'tokens', 'sessions', 'jobs', 'backups', 'audit'],
];

const PROFILE = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>PayloadType</key><string>Configuration</string>
<key>PayloadVersion</key><integer>1</integer>
<key>PayloadIdentifier</key><string>com.example.clock</string>
<key>PayloadUUID</key><string>5B0C1A52-5A0B-4C6E-8F3E-1E1D0E5B7A11</string>
<key>PayloadDisplayName</key><string>Clock of the lobby</string>
<key>PayloadContent</key><array/>
</dict></plist>`;

/** A fleet with something to see on each page. */
async function fill(lab) {
  lab.enroll('--devices', '20', '--seed', '7');
  lab.simulate('bad-token');
  lab.simulate('busy');
  await lab.until(async () => (await lab.api('GET', '/devices')).meta.total >= 27, 90);
  const { data } = await lab.api('GET', '/devices?page[size]=100&sort=id');
  const devices = { data: data.slice(0, 9).map(({ id }) => ({ type: 'devices', id })) };
  const create = async (type, attributes, relationships) => {
    const document = { data: { type, attributes, relationships } };
    return (await lab.api('POST', `/${type}`, document)).data;
  };
  await create('tags', { name: 'Accounting', color: '2f9e44' }, { devices });
  const tag = await create('tags', { name: 'Lobby', color: 'e8590c' }, { devices });
  const group = await create('device_groups', { name: 'Front desk' }, { devices });
  const profile = await uploadProfile(lab);
  const target = { data: { type: 'tags', id: tag.id } };
  await create('assignments', {}, { item: { data: { type: 'profiles', id: profile } }, target });
  const batch = { name: 'Security of the lobby', request_type: 'SecurityInfo', parameters: {} };
  const { id } = await create('command_batches', batch, { tags: { data: [target.data] } });
  const mac = data.find(({ attributes }) => attributes.platform === 'macOS');
  return { batch: id, mac: mac.id, stuck: await stuckDevice(lab), group: group.id };
}

async function uploadProfile(lab) {
  const form = new FormData();
  form.append('file', new Blob([PROFILE]), 'clock.mobileconfig');
  const headers = { Authorization: `Bearer ${lab.token}` };
  const url = `${lab.url}/api/v1/upload/profiles`;
  const { data } = await (await fetch(url, { method: 'POST', headers, body: form })).json();
  return data.id;
}

async function stuckDevice(lab) {
  let found;
  await lab.until(async () => {
    const { data } = await lab.api('GET', '/devices?filter[health]=stuck&page[size]=1');
    found = data[0]?.id;
    return found !== undefined;
  }, 60);
  return found;
}

const ENROLLED = encodeURIComponent('[{"name":"is_enrolled","op":"eq","val":true}]');

/** Each page, with what is done on it before its picture. */
function pagesOf({ batch, mac, stuck, group }) {
  const press = (name) => (page) => page.getByRole('button', { name }).first().click();
  const tabs = TABS.map((tab) => ({ name: `device-${tab}`, path: `/devices/${mac}?tab=${tab}` }));
  const settings = SETTINGS.map((page) => ({
    name: `settings-${page}`,
    path: `/settings/${page}`,
  }));
  return [
    { name: 'overview', path: '/' },
    { name: 'devices', path: '/devices' },
    { name: 'devices-filter', path: '/devices', before: press('+ Add filter') },
    { name: 'devices-columns', path: '/devices', before: press('Columns') },
    { name: 'devices-selected', path: '/devices', before: selectTwo },
    { name: 'device-stuck', path: `/devices/${stuck}` },
    { name: 'device', path: `/devices/${mac}` },
    { name: 'device-actions', path: `/devices/${mac}`, before: press('Actions') },
    { name: 'device-lock', path: `/devices/${mac}`, before: lock },
    { name: 'device-command', path: `/devices/${mac}?tab=commands`, before: press(/Acknowledged/) },
    ...tabs,
    { name: 'commands', path: '/commands' },
    { name: 'commands-new', path: '/commands/new' },
    { name: 'commands-restart', path: `/commands/new?rules=${ENROLLED}&type=RestartDevice` },
    { name: 'commands-settings', path: `/commands/new?rules=${ENROLLED}&type=DeviceInformation` },
    { name: 'batch', path: `/commands/batches/${batch}` },
    { name: 'groups', path: '/groups' },
    { name: 'groups-new', path: '/groups/new' },
    { name: 'group', path: `/groups/${group}` },
    { name: 'tags', path: '/groups/tags' },
    { name: 'set-up', path: '/set-up' },
    ...settings,
  ];
}

async function selectTwo(page) {
  for (const row of [1, 2]) await page.getByRole('row').nth(row).getByRole('checkbox').click();
  await page.getByText('2 selected').waitFor();
}

async function lock(page) {
  await page.getByRole('button', { name: 'Actions' }).click();
  await page.getByRole('menuitem', { name: 'Lock …' }).click();
}

/** In the browser. */
function contentHeight() {
  const content = document.querySelector('#content')?.scrollHeight ?? 0;
  return Math.min(2400, Math.max(window.innerHeight, content + 80));
}

async function takePictures(session, name) {
  const { page } = session;
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  for (const view of VIEWS) {
    await session.show(view);
    await page.waitForTimeout(LOADING_MS);
    // The content scrolls inside of the window, which is made as high as all of it.
    const height = await page.evaluate(contentHeight);
    await session.show({ ...view, viewport: { ...view.viewport, height } });
    const file = join(directory, `${name}-${view.name}.png`);
    await page.screenshot({ path: file });
  }
  await session.show(VIEWS[0]);
}

mkdirSync(directory, { recursive: true });
const lab = await Lab.start();
try {
  const filled = await fill(lab);
  const session = await Session.open(lab);
  try {
    await session.page.goto(`${lab.url}/sign-in`);
    await session.page.getByLabel('API token').waitFor();
    await takePictures(session, 'sign-in');
    for (const { name, path, before } of pagesOf(filled)) {
      await open(session, path);
      await before?.(session.page);
      await takePictures(session, name);
    }
    session.assertQuiet();
  } finally {
    await session.close();
  }
} finally {
  await lab.stop();
}
