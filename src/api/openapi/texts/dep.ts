import { DEP_FACTS } from './devices.js';

const TOKEN = {
  consumer_key: 'Names the server in Apple Business Manager.',
  access_token: 'Access token of the server token.',
  access_token_expiry: 'When the server token expires.',
};

const ACCOUNTS = {
  ...TOKEN,
  consumer_key:
    'Names the server in Apple Business Manager; another value discards what is known of the former one. ' +
    'Keys of the lab (`CK_lab…`) are accepted only with LAB=on, and then no others: 409 `lab_only`.',
  consumer_secret: 'Consumer secret of the server token.',
  access_secret: 'Access secret of the server token.',
  auth_session_token: 'Not used.',
  token_updated_at: 'When the server token was last replaced.',
  server_name: 'Name of the server in Apple Business Manager.',
  server_uuid: "Apple's id of the server.",
  admin_id: 'The administrator who made the token.',
  facilitator_id: 'The facilitator of the account.',
  org_name: 'Name of the organization.',
  org_email: 'E-mail address of the organization.',
  org_phone: 'Phone number of the organization.',
  org_address: 'Address of the organization.',
  org_id: "Apple's id of the organization.",
  org_id_hash: 'Hash of that id.',
  org_type: '`edu`: Apple School Manager; `org`: Apple Business Manager.',
  org_version: '`v1`: the former deployment programs; `v2`: Apple Business or School Manager.',
  url: 'A service in place of DEP_HOST; https, or http to this machine.',
  cursor: 'Where the next sync resumes; null: it reads all devices.',
  more_to_follow: 'Whether Apple has more pages.',
  fetched_until: "The time of Apple's last page.",
  status:
    "Apple's last answer about the token. `unconfirmed`: not asked yet; `terms_not_signed`, " +
    '`token_rejected`, `token_expired`: an admin has to act, see `status_advice`; `throttled`, ' +
    '`unreachable`: tried again automatically; `lab_off`: a token of the lab while the lab is off, ' +
    'or of Apple while it is on.',
  status_text: "Apple's own words, or what is unusual about an account that is `ok`.",
  status_advice: 'What to do next.',
  status_at: 'When that was found.',
  confirmed_at: 'When Apple last confirmed the token.',
  sync_state: '`waiting`: a sync is requested; `running`: a process reads pages now.',
  sync_kind: 'Of the current or last sync. `full`: all devices; `delta`: what changed.',
  sync_phase: 'What the next page holds. `fetch`: all devices; `delta`: changes after `cursor`.',
  sync_started_at: 'When the current or last sync began.',
  sync_finished_at: 'When the last sync ended.',
  sync_error: 'Why the last sync stopped; the next one resumes there.',
  sync_pages: 'Pages read by the current or last sync.',
  sync_devices: 'Devices in those pages.',
  next_sync_at: 'When it is tried again, or starts on schedule (DEP_SYNC_INTERVAL).',
  fetch_number: 'Counts full fetches.',
  fetched_fully_at: 'When all devices had last been read; repeated after a week.',
  suspected_losses:
    'Devices that the last full fetch missed and that are not removed yet, because they are most of ' +
    'them; the next full fetch decides.',
  reconciled_at: 'When Apple was last compared with what is configured here.',
  reconcile_report:
    'What the last reconciliation with findings did, and when (`at`): `auto_assigned` and ' +
    '`auto_reassigned` by the default profiles, `reassigned`, `unassigned`, `records_made` (of devices), ' +
    '`redefined` (profiles), and `failing`, which are tried again.',
  is_lab: "Whether the lab's stand-in made the token, not Apple.",
  created_at: 'When it was made.',
};

const DEVICES = {
  ...DEP_FACTS,
  serial_number: 'The serial number.',
  model: 'The model, in the words of Apple Business Manager.',
  is_enrolled: 'Whether the device accepts commands now.',
  enrolled_at: 'When the device enrolled.',
  stage:
    '`unassigned`: Apple has no profile for it; `assigned`; `pushed`: the device has the profile; ' +
    '`contacted`: it requested its enrollment here; `enrolled`; `removed`: Apple no longer lists it.',
  auto_assign:
    'Whether it gets the default profile of its account when it has none. False after an admin removed ' +
    'its profile; true assigns the default again.',
  by_default:
    'Whether it has its profile only as the default of its account. It then follows the default, unless ' +
    '`auto_assign` is false; assigning another profile by hand ends that.',
  assignment_due_at: 'When the profile will be sent to Apple; null: nothing to send.',
  assignment_at: 'When it was last sent to Apple.',
  assignment_attempts: 'Attempts in a row that Apple did not accept.',
  assignment_result:
    "Apple's result of the last attempt: `SUCCESS`, `NOT_ACCESSIBLE`, `FAILED`, `THROTTLED`; " +
    '`ABSENT`: none for this serial number; `REFUSED`: none for the whole request.',
  last_error: 'What went wrong last and what to do; null once it is resolved.',
  last_error_at: 'When that happened.',
  contacted_at: 'When it last requested its enrollment here.',
  op_type: 'The change that Apple last listed: `added`, `modified` or `deleted`.',
  op_date: 'When that change happened.',
  listed_at: 'When Apple first listed it; null: never, it was only assigned here.',
  told_at: 'When Apple last listed it.',
  removed_at:
    'When Apple had removed it from the account; it stays as history, and gets its profile back if it ' +
    'returns.',
  fetch_number: 'The last full fetch that listed it.',
  activation_lock_at: 'When `activation_lock` was last requested.',
  activation_lock_result:
    "Result of the last `activation_lock`: `requested`, then Apple's result or `refused`.",
  disowned_at: 'When it was disowned.',
  disown_result:
    "Result of the last `disown`: `requested`, `sent`, then Apple's result; `no_answer`: unknown.",
  created_at: 'When this record was made.',
};

const PROFILES = {
  uuid: 'Of its last definition at Apple; each has its own.',
  profile_name: 'The name in Apple Business Manager.',
  url: 'Where devices enroll; default: /dep/enroll of this server.',
  allow_pairing: 'Whether hosts may pair with the device.',
  is_supervised: 'Whether the device is supervised.',
  is_multi_user: 'Whether an iPad becomes a Shared iPad.',
  is_mandatory: 'Whether users cannot skip enrollment.',
  await_device_configured: 'Whether Setup Assistant waits for DeviceConfigured.',
  is_mdm_removable: 'Whether users can remove the enrollment.',
  auto_advance_setup: 'Whether Setup Assistant advances without input.',
  support_phone_number: 'Shown for help.',
  support_email_address: 'Shown for help.',
  org_magic: 'Groups the devices of one server.',
  department: 'Shown in Setup Assistant.',
  anchor_certs: 'Base64 of DER; default: what devices need to trust this server.',
  supervising_host_certs: 'Base64 of the DER of hosts that may pair.',
  skip_setup_items: "Apple's skip keys; unknown ones are accepted with a warning.",
  language: 'ISO 639-1 code, for `auto_advance_setup`.',
  region: 'ISO 3166-1 code, for `auto_advance_setup`.',
  configuration_web_url: 'A web page for sign-in before enrollment.',
  minimum_ios_version: 'The version that iPhones and iPads must have to enroll.',
  minimum_macos_version: 'The version that Macs must have to enroll.',
  last_upload_at: 'When it was last defined at Apple.',
  status:
    '`local`: it has no account; `pending`: not sent to Apple yet; `defined`: Apple has it as it is ' +
    'here; `failed`: Apple refuses it.',
  status_text: "Apple's own words.",
  status_advice: 'What to do next.',
  status_at: 'When that was found.',
  created_at: 'When it was made.',
};

const TOKENS = {
  ...TOKEN,
  uploaded_by: 'Name of the API token that uploaded it.',
  replaced_at: 'When the account got another one; null: it is the present one.',
  created_at: 'When it was uploaded.',
};

export const DEP_TEXTS = {
  dep_accounts: ACCOUNTS,
  dep_devices: DEVICES,
  dep_profiles: PROFILES,
  dep_tokens: TOKENS,
};
