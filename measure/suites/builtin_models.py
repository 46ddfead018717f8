"""The models of the built-in suite; imported by workers only, since torch takes a second."""

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 256


class MLP(nn.Module):
    """Three linear layers with GELU: matrix products and pointwise work to fuse."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH),
            nn.GELU(),
            nn.Linear(4 * WIDTH, 4 * WIDTH),
            nn.GELU(),
            nn.Linear(4 * WIDTH, WIDTH),
        )

    def forward(self, x: Tensor) -> Tensor:
        """(batch, width) to the same."""
        out: Tensor = self.layers(x)
        return out

    @staticmethod
    def get_example_inputs(batch_size: int, sequence_length: int | None) -> tuple[Tensor, ...]:
        """Random rows."""
        return (torch.randn(batch_size, WIDTH),)


class CNN(nn.Module):
    """Three convolutions with batch norm over 32 x 32 images, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        channels = (3, 32, 64, 64)
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise(channels):
            layers += [
                nn.Conv2d(before, after, 3, stride=1 if before == 3 else 2, padding=1),
                nn.BatchNorm2d(after),
                nn.ReLU(),
            ]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels[-1], 10)

    def forward(self, images: Tensor) -> Tensor:
        """(batch, 3, 32, 32) to (batch, 10)."""
        out: Tensor = self.classifier(self.features(images).mean((2, 3)))
        return out

    @staticmethod
    def get_example_inputs(batch_size: int, sequence_length: int | None) -> tuple[Tensor, ...]:
        """Random images."""
        return (torch.randn(batch_size, 3, 32, 32),)


class LSTM(nn.Module):
    """One LSTM layer over a sequence: a recurrence no compiler can fuse away."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(WIDTH // 2, WIDTH // 2, batch_first=True)
        self.head = nn.Linear(WIDTH // 2, 10)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width / 2) to (batch, 10)."""
        hidden, _ = self.lstm(x)
        out: Tensor = self.head(hidden[:, -1])
        return out

    @staticmethod
    def get_example_inputs(batch_size: int, sequence_length: int | None) -> tuple[Tensor, ...]:
        """Random sequences."""
        return (torch.randn(batch_size, sequence_length or 1, WIDTH // 2),)


class Attention(nn.Module):
    """Multi-head causal self-attention, written out: the products, the mask and the softmax are there to fuse."""

    heads = 4

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) to the same."""
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        mixed = functional.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return out

    @staticmethod
    def get_example_inputs(batch_size: int, sequence_length: int | None) -> tuple[Tensor, ...]:
        """Random sequences."""
        return (torch.randn(batch_size, sequence_length or 1, WIDTH),)


class TransformerBlock(nn.Module):
    """A pre-norm transformer block: attention by torch's own kernel, then an MLP, each with its residual."""

    heads = 4

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) to the same."""
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        out: Tensor = x + self.mlp(self.norm2(x))
        return out

    @staticmethod
    def get_example_inputs(batch_size: int, sequence_length: int | None) -> tuple[Tensor, ...]:
        """Random sequences."""
        return (torch.randn(batch_size, sequence_length or 1, WIDTH),)
