#ifndef FEEDSTORE_CGNUTLS_SHIM_H
#define FEEDSTORE_CGNUTLS_SHIM_H

// Signatures of tokens. GnuTLS computes them; this header converts values of JSON Web Keys and Signatures.

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>

// Verifies a signature; without one, only checks the key. Returns 0, or GnuTLS's error.
//
// The key is: for GNUTLS_SIGN_RSA_SHA256 a modulus and an exponent, for GNUTLS_SIGN_ECDSA_SHA256 the coordinates of a point of
// P-256, for GNUTLS_SIGN_EDDSA_ED25519 the key and nothing, for GNUTLS_SIGN_UNKNOWN a secret (HMAC with SHA-256) and nothing.
static inline int feedstore_signature_verify(
    gnutls_sign_algorithm_t algorithm, const unsigned char *first, size_t first_size, const unsigned char *second,
    size_t second_size, const unsigned char *text, size_t text_size, const unsigned char *signature,
    size_t signature_size) {
  const gnutls_datum_t one = {(unsigned char *)first, (unsigned int)first_size};
  const gnutls_datum_t two = {(unsigned char *)second, (unsigned int)second_size};
  if (algorithm == GNUTLS_SIGN_UNKNOWN) {
    unsigned char expected[32];
    // A shorter secret is easier to guess than the signature (RFC 7518, section 3.2).
    if (first_size < sizeof expected) return GNUTLS_E_INSUFFICIENT_SECURITY;
    if (signature == NULL) return 0;
    int failure = gnutls_hmac_fast(GNUTLS_MAC_SHA256, first, first_size, text, text_size, expected);
    if (failure < 0) return failure;
    // In constant time, which reveals nothing about a wrong signature.
    int is_right = signature_size == sizeof expected && gnutls_memcmp(expected, signature, sizeof expected) == 0;
    return is_right ? 0 : GNUTLS_E_PK_SIG_VERIFY_FAILED;
  }
  gnutls_pubkey_t key;
  int code = gnutls_pubkey_init(&key);
  if (code < 0) return code;
  if (algorithm == GNUTLS_SIGN_RSA_SHA256) {
    unsigned int bits = 0;
    code = gnutls_pubkey_import_rsa_raw(key, &one, &two);
    // RFC 7518, section 3.3.
    if (code >= 0 && (gnutls_pubkey_get_pk_algorithm(key, &bits) < 0 || bits < 2048))
      code = GNUTLS_E_INSUFFICIENT_SECURITY;
  } else if (algorithm == GNUTLS_SIGN_ECDSA_SHA256) {
    code = gnutls_pubkey_import_ecc_raw(key, GNUTLS_ECC_CURVE_SECP256R1, &one, &two);
  } else {
    code = gnutls_pubkey_import_ecc_raw(key, GNUTLS_ECC_CURVE_ED25519, &one, NULL);
  }
  if (code >= 0 && signature != NULL) {
    const gnutls_datum_t data = {(unsigned char *)text, (unsigned int)text_size};
    gnutls_datum_t signed_by = {(unsigned char *)signature, (unsigned int)signature_size};
    gnutls_datum_t der = {NULL, 0};
    if (algorithm == GNUTLS_SIGN_ECDSA_SHA256) {
      // Two numbers of 32 bytes; GnuTLS expects them in DER.
      const gnutls_datum_t r = {(unsigned char *)signature, 32}, s = {(unsigned char *)signature + 32, 32};
      code = signature_size == 64 ? gnutls_encode_rs_value(&der, &r, &s) : GNUTLS_E_PK_SIG_VERIFY_FAILED;
      signed_by = der;
    }
    if (code >= 0) code = gnutls_pubkey_verify_data2(key, algorithm, 0, &data, &signed_by);
    gnutls_free(der.data);
  }
  gnutls_pubkey_deinit(key);
  return code < 0 ? code : 0;
}

#endif
