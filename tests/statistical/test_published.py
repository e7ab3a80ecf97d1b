"""N_w and S_w on the default vectors, compared with an independent benchmark on 300-d GloVe.

200 words × 100 draws at ε = 10. The mean of N_w over words has a standard error of about 1.5 (its standard
deviation over words is about 20), so a band of ±4 is 2.6 standard errors for words drawn at random; here the seed
is fixed. The benchmark of 2024 reports N_w = 27.8 and S_w = 71.5 for λ = 0.
"""

import numpy as np

import wordveil as wv


def statistics(glove: wv.Embedding, lam: float) -> tuple[float, float]:
    words = np.random.default_rng(0).choice(len(glove), 200, replace=False)
    mechanism = wv.Mahalanobis(glove, 10.0, lam)
    answers = mechanism.perturb_ids(np.repeat(words, 100), stream=wv.insecure_stream(1)).reshape(200, 100)
    stays = 100.0 * float((answers == words[:, None]).mean())
    return stays, float(np.mean([len(np.unique(row)) for row in answers]))


def test_n_w_and_s_w(glove: wv.Embedding) -> None:
    laplace, mahalanobis = statistics(glove, 0.0), statistics(glove, 1.0)
    assert 23.0 <= laplace[0] <= 31.0
    assert 68.0 <= laplace[1] <= 76.0
    assert mahalanobis[0] < laplace[0] - 10.0
    assert mahalanobis[1] > laplace[1] + 10.0
