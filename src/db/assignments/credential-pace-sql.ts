/** Payloads with which a device asks an authority for a certificate. */
export const CREDENTIAL_TYPES = ['com.apple.security.scep', 'com.apple.security.acme'];

/** The stored payloads of versions, from `:versions` and `:hashes`; `:credential_types` are the above. */
export const BUILT = `
built as (
  select b.version_id, b.sha256, exists (
    select from profile_payloads y
    where y.profile_version_id = b.version_id and y.payload_type = any(:credential_types::text[])
  ) as fetches_credential
  from unnest(:versions::bigint[], :hashes::bytea[]) as b (version_id, sha256)
)`;

/**
 * A `slot` for each install of `due` that fetches a credential, `:pause_ms` after the previous one of all
 * items, devices and processes together, so that they don't overload the CA.
 */
export const PACED = `
pace as (
  update reconciler_state set next_credential_at = greatest(next_credential_at, now())
    + (select count(*) from due where fetches_credential) * :pause_ms * interval '1 ms'
  where exists (select from due where fetches_credential)
  returning next_credential_at as until
), slot as (
  select d.id, p.until - (count(*) over () - row_number() over (order by d.device_id, d.id) + 1)
    * :pause_ms * interval '1 ms' as at
  from due d cross join pace p where d.fetches_credential
)`;

/** When the command with the `slot` s may be sent; null: at once. */
export const AFTER = `case when s.at > now() + interval '1 second' then s.at end`;
