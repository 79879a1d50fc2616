/** A page of the console for what a text of the API names by its path. */
export interface NamedPage {
  to: string;
  label: string;
  /** A filter of the devices. */
  filter?: string;
}

const SET_UP = { to: '/set-up', label: 'Open the set-up' };
const CERTIFICATES = { to: '/settings/certificates', label: 'Open the certificates' };
const PAGES: [start: string, page: NamedPage][] = [
  ['push_certificates', SET_UP],
  ['enrollment_links', SET_UP],
  ['dep/stoken', SET_UP],
  ['dep/accounts', CERTIFICATES],
  ['credentials', CERTIFICATES],
  ['doctor', { to: '/settings/doctor', label: 'Open the doctor' }],
  ['jobs', { to: '/settings/jobs', label: 'Open the jobs' }],
  ['backups', { to: '/settings/backups', label: 'Open the backups' }],
  ['audit_events', { to: '/settings/audit', label: 'Open the audit trail' }],
];
const PATH = /\/api\/v1\/([\w/?[\]=-]+)/g;
const PUSH_STATE = /^devices\?filter\[push_state\]=(\w+)/;
const BATCH = /^command_batches\/(\d+)/;

/** Each once, in the order in which the text names them. */
export function pagesNamedIn(text: string): NamedPage[] {
  const pages = [...text.matchAll(PATH)].flatMap(([, path = '']) => pageOf(path) ?? []);
  return pages.filter(({ to }, index) => pages.findIndex((other) => other.to === to) === index);
}

function pageOf(path: string): NamedPage | undefined {
  const state = PUSH_STATE.exec(path)?.[1];
  if (state !== undefined) {
    return { to: '/devices', label: 'Show the devices', filter: `push_state~eq~${state}` };
  }
  const batch = BATCH.exec(path)?.[1];
  if (batch !== undefined) return { to: `/commands/batches/${batch}`, label: 'Open the batch' };
  return PAGES.find(([start]) => path.startsWith(start))?.[1];
}
