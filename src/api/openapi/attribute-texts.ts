import { member } from '../../jsonapi/definition.js';
import type { Schema } from '../api-route.js';

type Texts = Record<string, string>;

const DEP_ACCOUNTS: Texts = {
  consumer_key:
    "Which of Apple's servers it is; another one makes everything known of the former void. Of the lab " +
    '(`CK_lab…`) only with LAB=on, and then no other: 409 `lab_only`.',
  url: 'Of a service in place of DEP_HOST; https, and http to this machine only.',
  cursor: 'Up to where the devices were read; null has all of them read anew.',
  more_to_follow: 'As the last page said.',
  fetched_until: "The time of Apple's last page.",
  status:
    'What Apple last said of the token. `unconfirmed`: it is still to be asked; `terms_not_signed`, ' +
    '`token_rejected`, `token_expired`: an admin has to act, see `status_advice`; `throttled`, ' +
    "`unreachable`: it is tried again by itself; `lab_off`: a token of the lab's while the lab is off, " +
    "or of Apple's while it is on.",
  status_text: "Apple's own words, or what is odd about an account that is `ok`.",
  status_advice: 'What is to be done about it.',
  confirmed_at: 'When Apple last told whose token it is.',
  sync_state: '`waiting`: one is asked for; `running`: a process reads pages now.',
  sync_kind:
    '`full`: all devices; `delta`: what has changed. Of the sync that runs, or was the last.',
  sync_phase: 'What the next page is of: `fetch`: all devices, `delta`: changes after `cursor`.',
  sync_error: 'Why the last sync did not come to its end; the next one goes on there.',
  sync_pages: 'Of the sync that runs, or was the last.',
  sync_devices: 'Devices in those pages.',
  next_sync_at: 'When it is tried again, or begins by the clock (DEP_SYNC_INTERVAL).',
  fetch_number: 'Counts full fetches.',
  fetched_fully_at:
    'When all devices had last been read; after a week the clock has it done again.',
  suspected_losses:
    'How many devices the last full fetch missed that are not taken for removed, since they are most ' +
    'of them: the next one decides.',
  reconciled_at: 'When it was last seen to that Apple has what is wanted here.',
  reconcile_report:
    'What the last reconciliation that found something did, and when (`at`): `auto_assigned` and ' +
    '`auto_reassigned` by the default profiles, `reassigned`, `unassigned`, `records_made` (of devices), `redefined` ' +
    '(profiles), and `failing`, which go on being tried.',
  is_lab: "Whether the lab's stand-in made the token, not Apple.",
};

const DEP_DEVICES: Texts = {
  stage:
    'How far it has come: `unassigned` (Apple has no profile for it), `assigned`, `pushed` (it has got ' +
    'the profile), `contacted` (it has asked here for its enrollment), `enrolled`; `removed`: Apple lists ' +
    'it no longer.',
  auto_assign:
    'Whether it gets the default profile of its account when it has none. False once an admin took its ' +
    'profile away; true gives it one again.',
  by_default:
    'Whether it has its profile only because that was the default of its account. It then follows the ' +
    'default, unless `auto_assign` is false; giving it another by hand ends that.',
  assignment_due_at:
    'When Apple is told of the wanted profile, or that there is none; null: nothing is due.',
  assignment_at: 'When Apple was last told.',
  assignment_attempts: 'How often in a row Apple did not take it.',
  assignment_result:
    "Apple's word for the last attempt: `SUCCESS`, `NOT_ACCESSIBLE`, `FAILED`, `THROTTLED`; " +
    '`ABSENT`: none for this serial number; `REFUSED`: none for all that were sent with it.',
  last_error: 'What went wrong last and what to do; null once it is mended.',
  profile_uuid:
    'Of the profile that Apple has for it, as Apple says; the wanted one is `dep_profile`.',
  profile_status: "Apple's: `empty`, `assigned`, `pushed` or `removed`.",
  profile_assign_time: 'When Apple was given the profile.',
  profile_push_time: 'When the device got it from Apple.',
  contacted_at: 'When it last asked here for its enrollment.',
  op_type: 'Of the change that Apple last listed: `added`, `modified` or `deleted`.',
  op_date: 'Of that change.',
  listed_at: 'When Apple first listed it; null: never, it was only assigned here.',
  told_at: 'When Apple last told of it.',
  removed_at:
    'When Apple had taken it from the account; it stays as history, and has its profile again if it ' +
    'comes back.',
  fetch_number: 'Of the last full fetch that named it.',
  activation_lock_result:
    "What came of the last `activation_lock`: `requested`, then Apple's word or `refused`.",
  disown_result:
    "What came of the last `disown`: `requested`, `sent`, then Apple's word; `no_answer`: unknown.",
};

const DEP_PROFILES: Texts = {
  uuid: 'Of its last definition at Apple; each has its own.',
  url: "Where devices enroll; this server's /dep/enroll when left out.",
  status:
    '`local`: it has no account; `pending`: Apple is still to be told; `defined`: Apple has it as it ' +
    'stands here; `failed`: Apple refuses it.',
  status_text: "Apple's own words.",
  status_advice: 'What is to be done about it.',
  last_upload_at: 'When it was last defined at Apple.',
  skip_setup_items: "Apple's skip keys; unknown ones are taken with a warning.",
  anchor_certs: 'Base64 of DER; when left out, what devices need to trust this server.',
};

const DEP_TOKENS: Texts = {
  uploaded_by: 'Name of the token of this server that brought it.',
  replaced_at: 'When the account got another one; null: it is the present one.',
};

const DEVICES: Texts = {
  cell:
    'The cell label (`?c=NN`) of the ServerURL that the device enrolled with; null: it has none. For ' +
    'proxies that route devices to several databases; the server ignores it.',
  enrollment_replaced_at:
    'When a new enrollment last took the place of a live one. If the device itself did not enroll ' +
    'again then, another device has named its UDID or serial number: see `former_enrollments`.',
  replaced_fingerprint_sha256:
    'SHA-256 of the certificate of the enrollment that was replaced then, in hexadecimal.',
};

const FORMER_ENROLLMENTS: Texts = {
  fingerprint_sha256:
    'SHA-256 of the certificate that the device used last in this enrollment, in hexadecimal.',
  end_reason:
    '`re-enrolled`: a new enrollment replaced it while it was live; `checked out`: the device left; ' +
    '`moved`: its UDID appeared with the serial number of another device.',
};

/** What attributes mean whose names do not say it, by type. */
export const ATTRIBUTE_TEXTS: Readonly<Record<string, Texts>> = {
  dep_accounts: DEP_ACCOUNTS,
  dep_devices: DEP_DEVICES,
  dep_profiles: DEP_PROFILES,
  dep_tokens: DEP_TOKENS,
  devices: DEVICES,
  former_enrollments: FORMER_ENROLLMENTS,
};

/** The schema of an attribute with what it means, before what is said of it otherwise. */
export function described(schema: Schema, type: string, name: string): Schema {
  const text = member(member(ATTRIBUTE_TEXTS, type) ?? {}, name);
  if (text === undefined) return schema;
  const told = [text, schema.description].filter((part) => part !== undefined);
  return { ...schema, description: told.join(' ') };
}
