import type { Knex } from 'knex';

const UP = `
-- The vendor certificate signs requests for push certificates, as Apple's portal wants them.
alter table certificates drop constraint certificates_purpose_check;
alter table certificates add constraint certificates_purpose_check
  check (purpose in ('mdm.cacert', 'mdm.pushcert', 'mdm.webcrt', 'mdm.device', 'mdm.encrypt',
    'mdm.vendor', 'dep.stoken', 'dep.anchor', 'dep.supervision'));

alter table certificates
  -- The one CA that issues identities of devices now; others of ours go on vouching for theirs.
  add column issues_identities boolean not null default false,
  -- Made here, with a key that never came from outside; uploaded CAs are only trusted.
  add column is_own_ca boolean not null default false,
  -- By the names of RFC 5280 5.3.1.
  add column revocation_reason text check (revocation_reason in ('unspecified', 'keyCompromise',
    'cACompromise', 'affiliationChanged', 'superseded', 'cessationOfOperation',
    'privilegeWithdrawn')),
  -- Who can renew a push certificate at Apple.
  add column apple_account text,
  add column signing_request_id bigint
    references certificate_signing_requests (id) on delete set null;
alter table certificates add constraint certificates_reason_of_revoked
  check (revocation_reason is null or revoked_at is not null);
alter table certificates add constraint certificates_own_issues
  check (is_own_ca or not issues_identities);
update certificates set issues_identities = true, is_own_ca = true
where id = (
  select min(id) from certificates
  where purpose = 'mdm.cacert' and is_ca and revoked_at is null and rsa_private_key_id is not null
);
create unique index certificates_issuing on certificates (issues_identities)
  where issues_identities;
create index certificates_signing_request on certificates (signing_request_id)
  where signing_request_id is not null;
-- For OCSP, which asks by serial number, and for revocation lists, which go by issuer.
create index certificates_serial on certificates (serial);
create index certificates_revoked on certificates (issuer, revoked_at)
  where revoked_at is not null;
alter table certificate_signing_requests add column apple_account text;
create index certificate_signing_requests_public_key
  on certificate_signing_requests (public_key_fingerprint);
alter table certificate_signing_requests
  drop constraint certificate_signing_requests_purpose_check;
alter table certificate_signing_requests add constraint certificate_signing_requests_purpose_check
  check (purpose in ('mdm.cacert', 'mdm.pushcert', 'mdm.webcrt', 'mdm.device', 'mdm.encrypt',
    'mdm.vendor', 'dep.stoken', 'dep.anchor', 'dep.supervision'));

-- The key of a CA never leaves, not even once the CA is forgotten: nothing unsets this.
alter table rsa_private_keys add column is_ca_key boolean not null default false;
update rsa_private_keys k set is_ca_key = true
where exists (
  select from certificates c
  where c.rsa_private_key_id = k.id and (c.is_ca or c.purpose = 'mdm.cacert')
) or exists (
  select from certificate_signing_requests r
  where r.rsa_private_key_id = k.id and r.purpose = 'mdm.cacert'
);
create function mark_ca_key() returns trigger language plpgsql as $$
begin
  update rsa_private_keys set is_ca_key = true
  where id = new.rsa_private_key_id and not is_ca_key;
  return null;
end $$;
create trigger certificates_ca_key
  after insert or update of rsa_private_key_id, purpose, is_ca on certificates
  for each row
  when (new.rsa_private_key_id is not null and (new.is_ca or new.purpose = 'mdm.cacert'))
  execute function mark_ca_key();
create trigger certificate_signing_requests_ca_key
  after insert or update of rsa_private_key_id, purpose on certificate_signing_requests
  for each row when (new.rsa_private_key_id is not null and new.purpose = 'mdm.cacert')
  execute function mark_ca_key();

-- Until when an identity is good, and from when on it is to be renewed; null where not known.
alter table device_identities
  add column not_after timestamptz,
  add column renew_at timestamptz;
alter table device_identities drop constraint device_identities_state_check;
alter table device_identities add constraint device_identities_state_check
  check (state in ('active', 'renewal', 'superseded', 'revoked', 'tombstone'));
update device_identities i set
  not_after = c.not_after,
  renew_at = c.not_after - (c.not_after - c.not_before) / 3,
  state = case when c.revoked_at is not null and i.state in ('active', 'renewal') then 'revoked'
    else i.state end
from certificates c where c.fingerprint = i.fingerprint;
create index device_identities_renewal on device_identities (renew_at) where state = 'active';

-- Renewals under way: at most one for a device.
create table identity_renewals (
  device_id bigint primary key references devices (id) on delete cascade,
  -- The identity to be replaced.
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  command_id bigint references commands (id) on delete set null,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  problem text,
  started_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
);
create index identity_renewals_due on identity_renewals (next_attempt_at);

-- What was said of a credential that ends: once for each number of days left.
create table credential_notices (
  kind text not null,
  credential_id bigint not null,
  not_after timestamptz not null,
  days integer not null,
  noticed_at timestamptz not null default now(),
  primary key (kind, credential_id, not_after, days)
);

insert into change_topics (topic) values ('ssl_certificates');
create trigger ssl_certificates_insert after insert on certificates
  for each row when (new.purpose = 'mdm.webcrt') execute function note_change('ssl_certificates');
create trigger ssl_certificates_update after update on certificates
  for each row when (new.purpose = 'mdm.webcrt' or old.purpose = 'mdm.webcrt')
  execute function note_change('ssl_certificates');
create trigger ssl_certificates_delete after delete on certificates
  for each row when (old.purpose = 'mdm.webcrt') execute function note_change('ssl_certificates');

-- The version of the revocation lists: each list says which one it was made from.
insert into change_topics (topic) values ('revocations');
create trigger revocations_insert after insert on certificates
  for each row when (new.revoked_at is not null) execute function note_change('revocations');
create trigger revocations_update after update on certificates
  for each row when (new.revoked_at is distinct from old.revoked_at)
  execute function note_change('revocations');
create trigger revocations_delete after delete on certificates
  for each row when (old.revoked_at is not null) execute function note_change('revocations');
`;

const DOWN = `
drop trigger revocations_delete on certificates;
drop trigger revocations_update on certificates;
drop trigger revocations_insert on certificates;
delete from change_topics where topic = 'revocations';
drop trigger ssl_certificates_delete on certificates;
drop trigger ssl_certificates_update on certificates;
drop trigger ssl_certificates_insert on certificates;
delete from change_topics where topic = 'ssl_certificates';
drop table credential_notices;
drop table identity_renewals;
drop index device_identities_renewal;
update device_identities set state = 'superseded' where state = 'revoked';
alter table device_identities drop constraint device_identities_state_check;
alter table device_identities add constraint device_identities_state_check
  check (state in ('active', 'renewal', 'superseded', 'tombstone'));
alter table device_identities drop column renew_at, drop column not_after;
delete from certificate_signing_requests where purpose = 'mdm.vendor';
alter table certificate_signing_requests
  drop constraint certificate_signing_requests_purpose_check;
alter table certificate_signing_requests add constraint certificate_signing_requests_purpose_check
  check (purpose in ('mdm.cacert', 'mdm.pushcert', 'mdm.webcrt', 'mdm.device', 'mdm.encrypt',
    'dep.stoken', 'dep.anchor', 'dep.supervision'));
drop trigger certificate_signing_requests_ca_key on certificate_signing_requests;
drop trigger certificates_ca_key on certificates;
drop function mark_ca_key();
alter table rsa_private_keys drop column is_ca_key;
drop index certificate_signing_requests_public_key;
alter table certificate_signing_requests drop column apple_account;
drop index certificates_revoked;
drop index certificates_serial;
drop index certificates_signing_request;
drop index certificates_issuing;
alter table certificates drop constraint certificates_reason_of_revoked;
alter table certificates drop constraint certificates_own_issues;
alter table certificates
  drop column signing_request_id,
  drop column apple_account,
  drop column revocation_reason,
  drop column is_own_ca,
  drop column issues_identities;
delete from certificates where purpose = 'mdm.vendor';
alter table certificates drop constraint certificates_purpose_check;
alter table certificates add constraint certificates_purpose_check
  check (purpose in ('mdm.cacert', 'mdm.pushcert', 'mdm.webcrt', 'mdm.device', 'mdm.encrypt',
    'dep.stoken', 'dep.anchor', 'dep.supervision'));
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
