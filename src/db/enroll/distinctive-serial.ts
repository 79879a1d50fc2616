/**
 * SQL: whether a serial number tells one device from all others. Clones of a virtual Mac share
 * theirs, and boards come with none, or with zeros.
 */
export function isDistinctiveSerial(of: {
  serial: string;
  product: string;
  model: string;
}): string {
  return `coalesce(${of.serial} ~ '^[A-Z0-9]{8,}$' and ${of.serial} !~ '^(.)\\1*$'
      and coalesce(${of.product}, '') !~ '^VirtualMac'
      and coalesce(${of.model}, '') !~ '^VirtualMac', false)`;
}
