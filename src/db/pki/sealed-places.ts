/**
 * A column that holds sealed bytes. The parts are SQL over the row `t`; `write` may name
 * `v.sealed`. `sealLabel` computes the label that the bytes were sealed with (see SecretBox).
 */
export interface SealedPlace {
  readonly name: string;
  readonly table: string;
  readonly key: { readonly column: string; readonly type: 'bigint' | 'text' };
  readonly read: string;
  readonly write: string;
  readonly sealLabel: string;
}

const ID = { column: 'id', type: 'bigint' } as const;

const VERSION = "'profiles/' || t.profile_id || '/versions/' || t.number";
const VERSION_OF_PAYLOAD = `(
  select 'profiles/' || n.profile_id || '/versions/' || n.number
  from profile_versions n where n.id = t.profile_version_id)`;

/**
 * Every place that holds bytes sealed under the master key, except its check, so that a rotation
 * can reseal them. Add a new place here; a test looks for missing ones.
 */
export const SEALED_PLACES: readonly SealedPlace[] = [
  column('rsa_private_keys', 'sealed_pkcs8', "'rsa_private_keys/' || t.fingerprint_sha256"),
  column('devices', 'sealed_push', "'devices/' || t.id || '/push'"),
  column('device_secrets', 'sealed', "'devices/' || t.device_id || '/' || t.kind"),
  column(
    'device_users',
    'sealed_push',
    "'device_users/' || t.device_id || '/' || t.user_key || '/push'",
  ),
  column('commands', 'payload', "'commands/' || t.uuid || '/payload'"),
  column('command_batches', 'parameters', "'command_batches/' || t.uuid || '/parameters'"),
  column('command_payloads', 'body', "'command_payloads'"),
  column('commands', 'result', "'commands/' || t.uuid || '/result'"),
  column('unknown_reports', 'sealed_report', "'unknown_reports/' || t.device_id"),
  column('profile_versions', 'sealed_original', `${VERSION} || '/original'`),
  column('profile_versions', 'sealed_content', `${VERSION} || '/content'`),
  column(
    'profile_payloads',
    'sealed_content',
    `${VERSION_OF_PAYLOAD} || '/payloads/' || t.position`,
  ),
  column('profile_secrets', 'sealed_value', "'profile_secrets/' || t.id"),
  ...['consumer_secret', 'access_secret', 'auth_session_token'].map((name) =>
    column('dep_accounts', `sealed_${name}`, `'dep_accounts/' || t.id || '/${name}'`),
  ),
  column('enrollment_links', 'sealed_token', "'enrollment_links/' || t.id || '/token'"),
  column('scep_configurations', 'sealed_challenge', "'scep_configurations/challenge'"),
  ...['wifi_profile', 'mdm_profile'].map((name) =>
    column('return_to_service_settings', `sealed_${name}`, `'return_to_service_settings/${name}'`),
  ),
  setting('file_vault', 'sealed_key', 'file-vault/key'),
  setting('lab', 'sealed_key', 'lab/authority'),
  setting('lab_device_ca', 'sealed_key', 'lab/device-ca'),
];

function column(table: string, name: string, sealLabel: string): SealedPlace {
  const place = { name: `${table}.${name}`, table, key: ID, sealLabel };
  return { ...place, read: `t.${name}`, write: `${name} = v.sealed` };
}

/** A member, in base64, of a setting of that name. */
function setting(name: string, member: string, sealLabel: string): SealedPlace {
  return {
    name: `server_settings.${name}`,
    table: 'server_settings',
    key: { column: 'name', type: 'text' },
    read: `case when t.name = '${name}' then decode(t.value ->> '${member}', 'base64') end`,
    // PostgreSQL breaks base64 into lines.
    write: `value = jsonb_set(t.value, '{${member}}',
      to_jsonb(translate(encode(v.sealed, 'base64'), E'\\n', '')))`,
    sealLabel: `'${sealLabel}'`,
  };
}
