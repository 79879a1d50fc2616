import type { Schema } from '../../api-route.js';
import { words } from '../operations/operation-names.js';
import { codeTable } from '../schemas/error-codes.js';

/** What the tags are about; a type without a line here has its name alone. */
const TAGS: Record<string, string> = {
  applications: 'Applications to install, from the App Store or by their manifest.',
  audit_events: 'Who did what and when. Nothing changes or removes a line.',
  available_os_updates: 'Updates that devices have offered.',
  saved_views: 'Pages of the console, saved by name.',
  backups: 'Backups of the server: made, under way and failed.',
  certificates: "The server's own certificates. Documents hold an array, even of one.",
  certificate_signing_requests: 'Requests for certificates, with the key kept here.',
  command_batches: 'One command for many devices, and what became of it.',
  command_types: "Apple's commands: their keys, and which devices take them.",
  commands: 'Commands to devices, and their results.',
  configuration: 'Settings of which there is one each.',
  custom_attributes:
    'What you note of devices, for the variables of profiles and for smart groups.',
  dep_accounts: "Accounts of Apple's Device Enrollment Program.",
  dep_devices: "Serial numbers of DEP: their stage, and what Apple's service reports.",
  dep_profiles:
    'How devices of DEP enroll and set themselves up. `status` says whether Apple has it, ' +
    '`meta.warnings` what Apple or devices would refuse.',
  device_locations: 'Where devices in lost mode were last.',
  device_restrictions: 'Restrictions in force on devices.',
  installed_provisioning_profiles: 'Provisioning profiles that devices have reported.',
  local_users: 'Accounts of Macs, and users of Shared iPads, that devices have reported.',
  managed_applications: 'Applications that Muster manages, as devices have reported them.',
  device_groups: 'Devices by group: static ones by hand, smart ones by a rule.',
  device_secrets: 'What devices have escrowed: kinds and times; a separate call shows the value.',
  device_setups: 'Devices that waited, or still wait, in Setup Assistant.',
  devices: 'Every device known, enrolled or not.',
  documentation: 'This description.',
  installed_applications: 'Applications that devices have reported.',
  installed_certificates: 'Certificates that devices have reported.',
  installed_payloads: 'Payloads of the profiles that devices have reported.',
  installed_profiles: 'Profiles that devices have reported.',
  jobs: 'Background work of the server: waiting, running and failed.',
  profile_secrets: 'Secret texts for the variables of profiles.',
  profiles: 'Configuration profiles: upload, inspect, download.',
  rollouts: 'New versions of profiles that reach devices stage by stage, and halt by themselves.',
  rsa_private_keys: 'Facts about private keys; never the keys themselves.',
  sessions: 'Browsers that have signed in to the console, and who you are.',
  tokens: 'API tokens; none shows its secret.',
  tags: 'Labels of devices and applications.',
};

/** Tags in the order of their names. */
export function tagObjects(names: string[]): Schema[] {
  return [...new Set(names)].sort().map((name) => ({
    name,
    description: Object.hasOwn(TAGS, name) ? TAGS[name] : words(name),
  }));
}

/** What holds for every operation, as Markdown. */
export function introduction(): string {
  return `${INTRODUCTION}

## Errors

\`code\` is stable; \`detail\` is for people. Several faults of one body are reported together, each with
its JSON pointer.

${codeTable()}
`;
}

const INTRODUCTION = `JSON:API 1.0 over HTTP. Every path works with and without a slash at its end;
ids are numbers by default; times are ISO 8601 with an offset.

## Authentication and roles

\`Authorization: Bearer TOKEN\`, or HTTP Basic with the token as the password. A \`viewer\` reads; an
\`operator\` also changes devices, tags, groups, applications, profiles and commands; an \`admin\` may do
everything. With Basic, which browsers add by themselves, a
change by a page of another site (\`Sec-Fetch-Site\`, \`Origin\`) is refused with 403, unless
it is one of \`CORS_ORIGINS\`.

## Bodies

Send \`application/vnd.api+json\` or \`application/json\`. Unknown attributes are refused, read-only ones
ignored. In an update absent members stay unchanged and \`null\` clears.

## Ids

Ids are numbers. With \`Accept: application/vnd.api+json; profile="urn:muster:string-ids"\` all ids are
strings, as JSON:API has them; the answer's \`Content-Type\` names the profile. Requests may send either.

## Collections

\`page[number]\` and \`page[size]\`, or the cursors \`page[after]\` and \`page[before]\` of a page's links;
\`sort\`, also by \`device.udid\`; \`filter\`, \`include\`, \`fields[type]\`. Unknown ones are refused with 400.
In every order rows without a value are last, equal ones by id. URL and headers: at most 64 KB,
for 1,000 values of \`in\`.

## Request ids

Every answer has an \`X-Request-Id\`, which errors and the audit trail name: the caller's where it has 1 to
64 letters, digits, \`_\`, \`.\` and \`-\`, otherwise a new one.

## Repeating and concurrency

A write with an \`Idempotency-Key\` can be repeated for 24 hours without being done twice; errors are
not kept, so that the same key may be used again after one. \`If-Match\` with the \`ETag\` of a resource
keeps an update from undoing somebody else's.

## Methods

HEAD works wherever GET changes nothing, OPTIONS everywhere; other methods get 405 with \`Allow\`.`;
