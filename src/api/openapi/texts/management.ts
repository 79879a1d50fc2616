export const MANAGEMENT_TEXTS = {
  applications: {
    discriminator: 'What kind of application it is.',
    display_name: 'The name.',
    bundle_id: 'The bundle identifier.',
    description: 'The description.',
    version: 'The version.',
    minimum_os_version: 'The oldest system it runs on.',
    release_notes: 'What is new in this version.',
    itunes_store_id: 'The id in the App Store.',
    purchase_method: '0: by redemption code; 1: by license.',
    management_flags: '1: remove with MDM; 4: no backup; 5: both.',
    change_management_state: '`Managed`: take over an unmanaged app.',
    country: 'Country of the App Store.',
    artist_id: "The developer's id in the App Store.",
    artist_name: "The developer's name.",
    artist_view_url: "The developer's page.",
    artwork_url60: 'Icon of 60 pixels.',
    artwork_url100: 'Icon of 100 pixels.',
    artwork_url512: 'Icon of 512 pixels.',
    release_date: 'When it was released.',
    file_size_bytes: 'Bytes to download.',
    manifest_url: 'Where devices fetch the manifest.',
    manifest_bundle_version: '`bundle-version` of the manifest.',
    manifest_title: '`title` of the manifest.',
    manifest_subtitle: '`subtitle` of the manifest.',
    manifest_kind: '`kind` of the manifest.',
    manifest_package_url: 'Where devices fetch the package.',
    manifest_full_size_image_url: 'Where devices fetch the large icon.',
    manifest_display_image_url: 'Where devices fetch the small icon.',
    manifest_full_size_image_needs_shine: 'Whether the large icon gets a gloss.',
    manifest_display_image_needs_shine: 'Whether the small icon gets a gloss.',
    manifest_size_in_bytes: 'Bytes of the package.',
    manifest_checksum_chunk_size: 'Bytes in each checksum.',
    manifest_checksum_type: 'Algorithm of the checksums.',
    manifest_checksums: 'Checksums of the chunks, in order.',
    created_at: 'When it was made.',
  },
  command_types: {
    request_type: "Apple's `RequestType`, which is the id, too.",
    title: "Apple's title.",
    platforms: 'The platforms that have it, with commas between them.',
    role: 'The role that queues it. A secret in its parameters needs `admin`, except `Payload` and `UnlockToken`.',
    is_destructive: 'It removes something, locks or restarts the device, or ends a session.',
    requirements:
      'For each platform `introduced`, `deprecated`, `removed`, `supervised`, `automated_enrollment`, ' +
      '`user_enrollment`, `shared_ipad`, `channels`, `access_right`.',
    keys:
      'Of `parameters`: `name`, `type`, `presence`, `default`, `values`, `min`, `max`, `min_items`, ' +
      '`max_items`, `format`, `is_secret`; `when_left_out`: what Muster fills in; `platforms` where they differ from those of the command; ' +
      '`keys` of a dictionary, `items` of an array, `choices` of a string; `conditions` that join those keys. ' +
      'A name `ANY` is any name.',
    conditions:
      'What joins the keys of `parameters`: `keys`, `text` as a sentence, and `kind`: `one_of` (exactly one), `at_least_one_of`, ' +
      '`together` (all or none), `requires` (the first one only with the second), `excludes` (only without it).',
    response_keys: 'Of the answer, as `keys`.',
    eligible: 'Whether it may be queued for the device. Only with `device`.',
    reasons: 'Why not: `code` and `detail` as a 422 gives them. Only with `device`.',
    warnings: 'What the device has not reported although it decides. Only with `device`.',
  },
  commands: {
    uuid: "Apple's `CommandUUID`.",
    request_type: "Apple's `RequestType`.",
    parameters: "The command's keys, in Apple's names; secret values are masked.",
    status: 'Its state. A client may only set `Cancelled`.',
    queued_at: 'When it was queued.',
    sent_at: 'When it was last sent.',
    acknowledged_at: 'When its final answer came.',
    after: 'Not sent before this time.',
    expires_at: 'Not sent after this time.',
    priority: 'The highest is sent first.',
    ttl: 'How often it is sent without an answer before it expires.',
    attempts: 'How often it was sent.',
    is_forced: 'Whether an admin queued it with `?force=true`.',
    reason: 'Why it was cancelled or expired.',
    error_chain:
      "Apple's `ErrorChain`; of an acknowledged command the errors of the items that the device refused, each " +
      'with its `Item`.',
    result:
      "The device's answer; secret values are masked. Null of a handled scheduled inventory, see `KEEP_RESULTS`.",
  },
  command_batches: {
    name: 'For people.',
    request_type: "Apple's `RequestType`.",
    parameters: "The command's keys as they were given, with variables; secret values are masked.",
    priority: 'Of its commands; null: 0.',
    ttl: 'Of its commands; null: 5.',
    after: 'No command is sent before.',
    expires_at: 'No command is sent after.',
    spread:
      'Seconds over which commands and pushes are spread, in the order of the ids of devices.',
    filter: 'The filter of its devices.',
    state:
      '`expanding`: commands are still being queued; `running`; `finished`: every command is final; ' +
      '`cancelled`.',
    targets:
      '`matched` devices; `eligible`: get a command; `reduced`: get it without some keys, which `left_out` ' +
      'names; `refused`: do not get it, by `code`. Each with `count` and the ids of ten `examples`. ' +
      'Until the commands are queued, what is foreseen.',
    counts: 'How many commands have each status.',
    failures:
      'The 100 most frequent errors of its commands: `status`, `error` (domain and code, or the reason), the ' +
      '`message` of the first, `count`, and the ids of ten `commands`.',
    created_by: 'The name of the token.',
    created_at: 'When it was created.',
    expanded_at: 'When all its commands were queued.',
    finished_at: 'When the last of its commands became final.',
  },
  profiles: {
    identifier: '`PayloadIdentifier`.',
    uuid: '`PayloadUUID`.',
    display_name: '`PayloadDisplayName`.',
    description: '`PayloadDescription`.',
    organization: '`PayloadOrganization`.',
    version: '`PayloadVersion`.',
    scope: '`PayloadScope`: `User` or `System`.',
    removal_disallowed: 'Whether users cannot remove it.',
    expiration_date: 'When it stops being valid.',
    removal_date: 'When the device removes it.',
    duration_until_removal: 'Seconds until the device removes it.',
    consent_en: 'What users are asked to accept, in English.',
    holds_secrets: 'Whether a payload holds a secret.',
    is_signed: 'Whether the uploaded file was signed.',
    signer: 'Who signed the uploaded file.',
    current_version: 'The number of the latest upload.',
    active_version: 'The number of the version that devices get; null: the latest.',
    paused_at: 'Since when no device gets or loses it.',
    pause_reason: 'Why it is paused.',
    removals_paused_at:
      'Since when no device loses it, because too many were about to within an hour by smart groups.',
    created_at: 'When it was first uploaded.',
    updated_at: 'When it was last uploaded.',
  },
  assignments: {
    all_devices: 'Whether every device is the target; without a target otherwise.',
    mode: 'Whether the target gets the item, or does not get it whatever else includes it.',
    priority: 'Items of a higher priority are installed first.',
    created_at: 'When it was created.',
  },
  device_items: {
    identifier: '`PayloadIdentifier` of the profile.',
    version: 'The number of the version that the device should have.',
    state:
      '`pending`: to be installed. `sent`: the command is under way. `installed`: the device has acknowledged it. `verified`: ' +
      'the device has listed it. `removing`: to be removed. `failed`, `conflict`, `not_applicable`, `waiting_for_user`, ' +
      '`paused`: see `reason`.',
    reason_code: 'Why it is in this state, for programs.',
    reason: 'Why it is in this state.',
    payload_uuid: 'The `PayloadUUID` that proves this version in the list of the device.',
    priority: 'Items of a higher priority are installed first.',
    attempts: 'How often it has failed since something changed.',
    next_attempt_at: 'When it is tried again.',
    repairs: 'How often the device had lost it.',
    changed_at: 'When its state last changed.',
  },
  rollouts: {
    version: 'The number of the version that devices get stage by stage.',
    former_version: 'The number of the version that the others keep, and get back by a rollback.',
    stages:
      'At most 20: `percent` of the devices, with up to two decimals, more than before, 100 in the ' +
      'last; `soak_minutes` that a stage lasts at least. The first may have 0 percent with a `first_tag`.',
    halt_at:
      'Halts by itself as soon as `failures` devices have failed, or `percent` of those that answered ' +
      '(at least 5, or the whole stage); null: no such limit; left out: 25 and 10. At least one is needed.',
    state:
      '`running`; `halted`: nothing is queued for the new version, see `reason`; `rolled_back`; ' +
      '`finished`: every device gets the new version.',
    reason: 'Why it has halted, or what its stage waits for.',
    stage: 'The present stage, from 1.',
    stage_started_at: 'When the stage began, or was resumed.',
    devices: 'Devices of the stage, counted each minute.',
    verified: 'Devices that have listed the new version.',
    failed: 'Devices on which the new version has failed, and has not been listed since.',
    created_at: 'When it was started.',
    ended_at: 'When it finished or was rolled back.',
  },
  profile_payloads: {
    position: 'Its place in the profile, from 0.',
    payload_type: '`PayloadType`.',
    identifier: '`PayloadIdentifier`.',
    uuid: '`PayloadUUID`.',
    version: '`PayloadVersion`.',
    display_name: '`PayloadDisplayName`.',
    description: '`PayloadDescription`.',
    organization: '`PayloadOrganization`.',
    is_known: "Whether Apple's schema has this type.",
  },
  custom_attributes: {
    name: 'Profiles name it as `$ATTRIBUTE_name`.',
    value: 'The text.',
    created_at: 'When it was added.',
    updated_at: 'When its value was last set.',
  },
  profile_secrets: {
    name: 'Profiles name it as `$SECRET_name`.',
    value: 'The text; it is never shown.',
    version: 'Counts the values.',
    created_at: 'When it was added.',
    updated_at: 'When its value last changed.',
  },
  profile_versions: {
    number: 'Counts the uploads of this profile.',
    uuid: '`PayloadUUID` of this version.',
    format: 'Whether the file was XML or binary.',
    is_signed: 'Whether the file was signed.',
    signer: 'Who signed the file.',
    signer_fingerprint_sha256: "SHA-256 of the signer's certificate.",
    signer_is_trusted: 'Whether the signer is trusted here.',
    holds_secrets: 'Whether a payload holds a secret.',
    size: 'Bytes of the file.',
    warnings: 'What Apple or devices may object to.',
    variables: 'Names of the variables in its strings, without dollars.',
    is_rendered:
      'Whether its strings are rendered for each device; false of what was uploaded earlier.',
    platforms:
      'The platforms that some payload is for by the schema of Apple: `from` which version of the system, and ' +
      '`is_supervised` where a payload needs supervision, `is_user_approved` where one needs an enrollment that the ' +
      'user of the Mac approved; null: all devices.',
    is_for_user:
      'Whether the file has `PayloadScope` User: Macs and Shared iPads get it for each user.',
    uploaded_by: 'Name of the token that uploaded it.',
    created_at: 'When it was uploaded.',
  },
  enrollment_links: {
    name: 'For people.',
    description: 'For people.',
    max_uses: 'How many devices may enroll by it; null: no limit.',
    uses: 'How many identities it has yielded.',
    expires_at: 'Until when it works.',
    is_disabled: 'Whether it is switched off.',
    status: 'Whether it works, or why not.',
    url: 'The address to hand out.',
    last_used_at: 'When it last yielded an identity.',
    created_at: 'When it was made.',
  },
  enrollment_requests: {
    method: 'How the device requested it.',
    state: '`held`: the device is enrolled already, an admin has to approve it.',
    udid: 'The UDID it proved or claims.',
    enrollment_id: 'Stands for the UDID in a user enrollment.',
    serial_number: 'The serial number it proved or claims.',
    product_name: 'Its model identifier.',
    os_version: 'Its operating system.',
    build_version: 'The build of that.',
    imei: 'Its IMEI.',
    meid: 'Its MEID.',
    language: 'The language of its user.',
    account: 'The Managed Apple Account.',
    unmet_minimum_os_version:
      'The version that its DEP profile requires and the device cannot update to.',
    created_at: 'When the device requested it.',
    expires_at: 'Until when the device can enroll, or an admin can approve that.',
    fingerprint_sha256: 'The certificate of a held request.',
    attempts: 'How often that certificate was refused.',
    last_attempt_at: 'When it was last refused.',
    held_at: 'When it was first refused.',
    approved_at: 'When an admin approved it.',
    enrolled_at: 'When the device enrolled.',
  },
  enrollment_users: {
    account: 'The Managed Apple Account.',
    full_name: 'The name of the person.',
    password: 'Stored as a hash only.',
    enrollment_mode: '`byod` or `adde`; null: as ACCOUNT_ENROLLMENT says.',
    is_disabled: 'Whether sign-in is refused.',
    last_login_at: 'The last sign-in.',
    created_at: 'When it was made.',
  },
  device_changes: {
    kind: 'What has changed.',
    change: '`changed`, or of an entry `appeared` and `gone`.',
    attribute:
      'The name of the attribute of the device; of an application its bundle identifier, of a profile its ' +
      'identifier, of a certificate its SHA-256.',
    name: 'The name of the entry.',
    old: 'The former value; of an application its version, of a profile its UUID.',
    new: 'The present value.',
    cause:
      '`command`: one has done it. `report`: the device has reported it. `admin`: a request to this API. ' +
      '`enrollment`: a check-in, or Apple Business Manager.',
    caused_by: 'The request type of the command, or the name of the token.',
    changed_at: 'When the server learned of it.',
  },
  former_enrollments: {
    enrollment_number: 'Counts the enrollments of the device.',
    enrollment_method: 'How it began.',
    udid: 'The UDID it had.',
    enrollment_id: 'The EnrollmentID it had.',
    serial_number: 'The serial number it had.',
    managed_apple_account: 'Of account-driven enrollment.',
    authenticated_at: 'When it began.',
    enrolled_at: 'When its first TokenUpdate came.',
    ended_at: 'When it ended.',
    fingerprint_sha256:
      'SHA-256 of the certificate that the device used last in this enrollment, in hexadecimal.',
    end_reason:
      '`re-enrolled`: a new enrollment replaced it while it was live; `checked out`: the device left; ' +
      '`moved`: its UDID appeared with the serial number of another device.',
  },
};
